-- KEYS: sequence. ARGV: namespace, number of conditions, number of mutations,
-- then 4 arguments a condition (kind, record, key, expected) and 5 a mutation
-- (kind, record, key, value, retention in ms or 0).
--
-- Redis does not roll back: whatever can fail is checked before the first write.
local sequence = KEYS[1]
local conditions, mutations = tonumber(ARGV[2]), tonumber(ARGV[3])
local now = clock()
local at = 4

for _ = 1, conditions do
  local kind, record, key, expected = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  at = at + 4
  local found = redis.pcall('ZREVRANGE', record, 0, 0)
  if found.err then
    return fail('record ' .. string.sub(record, -64) .. ' of a condition is no ZSET')
  end
  local current = found[1] and parse(found[1], key)
  if found[1] and not current then
    return fail('record ' .. string.sub(record, -64) .. ' of a condition is unreadable')
  end
  local exists = current and live(current, now)
  local holds
  if kind == 'missing' then
    holds = not exists
  elseif kind == 'version' then
    holds = exists and current.version == expected
  else
    holds = exists and current.size == #expected
      and string.sub(found[1], current.first, current.last) == expected
  end
  if not holds then
    return {'conflict', text(now)}
  end
end

if mutations == 0 then
  return {'applied', text(now)}
end

local types = {
  [sequence] = 'string', [index] = 'zset', [map] = 'hash', [cleanup] = 'zset',
  [snapshot_expiry] = 'zset', [snapshot_boundary] = 'zset',
}
for i = at + 1, #ARGV, 5 do
  types[ARGV[i]] = 'zset'
end
for name, want in pairs(types) do
  local kind = call('TYPE', name).ok
  if kind ~= 'none' and kind ~= want then
    return fail('Redis key ' .. string.sub(name, #ns + 1) .. ' is a ' .. kind .. ', want ' .. want)
  end
end
local issued = call('GET', sequence) or '0'
if not string.match(issued, '^%d+$') then
  return fail('the sequence is no counter')
end
-- A score is a double: above 2^53 the next one would be the same, and hide the
-- member that has it.
if #issued > 16 or tonumber(issued) + mutations > 9007199254740992 then
  return fail('the sequence is used up')
end
for i = at + 1, #ARGV, 5 do
  -- A member above the sequence would hide the one that is about to be written.
  if call('ZCOUNT', ARGV[i], '(' .. issued, '+inf') > 0 then
    return fail('record ' .. string.sub(ARGV[i], -64) .. ' has a score above the sequence')
  end
end

-- INCRBY comes first because it is refused when memory is short, on a replica
-- and without enough replicas, while nothing has been changed.
local score = call('INCRBY', sequence, mutations) - mutations
purge_snapshots(now)
local low, high = boundaries()
local reply = {'applied', text(now)}

for i = at, #ARGV, 5 do
  local kind, record, key, value = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local retention = tonumber(ARGV[i + 4])
  local put = kind == 'put'
  score = score + 1
  -- The sequence never repeats, so neither does a version, and no two members
  -- of a record are the same bytes, tombstones included.
  local version = text(score)
  local expires = 0
  if put then
    reply[#reply + 1] = version
    if retention ~= 0 then
      expires = now + retention
    end
  end
  if put or call('EXISTS', record) == 1 then
    local member = '\1' .. cmsgpack.pack({key, value, version, expires, not put})
    call('ZADD', record, version, member)
    call('ZADD', index, 0, key)
    call('HSET', map, key, record)
    local history = trim(record, version, low, high)
    schedule(key, now, expires, history or not put)
  end
end

tidy(now, low, high)
return reply
