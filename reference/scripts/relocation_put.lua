-- KEYS: blob. ARGV: payload, retention in ms.
local key, payload = KEYS[1], ARGV[1]
local now = clock()
local expires, failure = blob(key, now)
if failure then return failure end
if not expires then
  -- PXAT is PX with the sum made here: the expiry that Redis keeps is then the
  -- reported one, to the millisecond.
  expires = now + tonumber(ARGV[2])
  call('SET', key, payload, 'PXAT', text(expires))
  return {'stored', text(now), text(expires)}
end
-- Lengths first: a blob is up to 64 MiB and not copied without need.
if call('STRLEN', key) == #payload and call('GET', key) == payload then
  return {'alreadyStored', text(now), text(expires)}
end
return {'conflict', text(now)}
