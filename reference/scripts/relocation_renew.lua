-- KEYS: blob. ARGV: retention in ms.
local now = clock()
local expires, failure = blob(KEYS[1], now)
if failure then return failure end
if not expires then
  return {'missing', text(now)}
end
expires = now + tonumber(ARGV[1])
call('PEXPIREAT', KEYS[1], text(expires))
return {'renewed', text(now), text(expires)}
