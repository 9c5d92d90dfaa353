-- KEYS: blob.
local now = clock()
local expires, failure = blob(KEYS[1], now)
if failure then return failure end
if not expires then
  return {'missing', text(now)}
end
return {'found', text(now), text(expires), call('GET', KEYS[1])}
