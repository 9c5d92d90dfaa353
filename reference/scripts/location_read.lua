-- KEYS: record. Answers the clock and the current member, if there is one.
-- The caller decodes the member, which keeps its 64-bit expiry exact.
local now = clock()
local found = redis.pcall('ZREVRANGE', KEYS[1], 0, 0)
if found.err then
  return fail('record ' .. string.sub(KEYS[1], -64) .. ' is no ZSET')
end
return {text(now), found[1]}
