-- A record's ZSET holds its current member and those that an open snapshot may
-- still show.
local ns = ARGV[1] -- the namespace of the key prefix
local index, map, cleanup = ns .. 'index', ns .. 'map', ns .. 'cleanup'
local snapshot_expiry, snapshot_boundary = ns .. 'snapshot-expiry', ns .. 'snapshot-boundary'

local SNAPSHOT_MS = 60000 -- life of a snapshot; it is never renewed
local SETTLE_MS = 1000 -- when superseded or deleted members are looked at again
local BOUND = 16 -- most rows of cleanup work that one script does

-- The map is shared with other providers: a row that points outside the
-- namespace is never followed.
local function own(record)
  return record and #record == #ns + 64 and string.sub(record, 1, #ns) == ns
end

-- Abandoned snapshots would pin history for ever.
local function purge_snapshots(now)
  for _, id in ipairs(call('ZRANGEBYSCORE', snapshot_expiry, '-inf', text(now), 'LIMIT', 0, BOUND)) do
    call('ZREM', snapshot_boundary, id)
    call('ZREM', snapshot_expiry, id)
  end
end

-- boundaries returns the smallest and the greatest boundary of the open
-- snapshots, or nothing if none is open.
local function boundaries()
  return call('ZRANGE', snapshot_boundary, 0, 0, 'WITHSCORES')[2],
    call('ZREVRANGE', snapshot_boundary, 0, 0, 'WITHSCORES')[2]
end

-- trim removes the members that no open snapshot can show and answers whether
-- any but the current one, of the given score, is left. It counts instead of
-- reading, because a member may be a MiB.
local function trim(record, score, low, high)
  if not low then
    call('ZREMRANGEBYSCORE', record, '-inf', '(' .. score)
    return false
  end
  -- The newest member at or below the smallest boundary is what the oldest
  -- snapshot shows; those before it are not shown any more.
  local below = call('ZCOUNT', record, '-inf', low)
  if below > 1 then
    call('ZREMRANGEBYRANK', record, 0, below - 2)
  end
  -- Superseded after the newest snapshot began: bounds the history of a key
  -- that is written often while a snapshot is open.
  call('ZREMRANGEBYSCORE', record, '(' .. high, '(' .. score)
  return call('ZCARD', record) > 1
end

-- schedule says when a record must be looked at again. An expired record waits
-- for the last snapshot that began before its expiry.
local function schedule(key, now, expires, history)
  if history then
    call('ZADD', cleanup, text(now + SETTLE_MS), key)
  elseif expires ~= 0 then
    call('ZADD', cleanup, text(expires + SNAPSHOT_MS), key)
  else
    call('ZREM', cleanup, key)
  end
end

local function tidy_record(key, now, low, high)
  local record = call('HGET', map, key)
  local found = own(record) and redis.pcall('ZREVRANGE', record, 0, 0, 'WITHSCORES')
  local member = found and not found.err and found[1] and parse(found[1], key)
  if found and not found.err and not found[1] then
    call('ZREM', index, key)
    call('HDEL', map, key)
    call('ZREM', cleanup, key)
  elseif not member then
    -- A row that can't be understood is left to whoever reads it: it must not
    -- come up again and again here, nor fail somebody else's write.
    call('ZREM', cleanup, key)
  elseif not member.tombstone and (member.expires == 0 or member.expires + SNAPSHOT_MS > now) then
    schedule(key, now, member.expires, trim(record, found[2], low, high))
  elseif low and tonumber(low) < tonumber(found[2]) then
    -- A snapshot from before this member may show what it replaced.
    trim(record, found[2], low, high)
    schedule(key, now, 0, true)
  else
    call('DEL', record)
    call('ZREM', index, key)
    call('HDEL', map, key)
    call('ZREM', cleanup, key)
  end
end

local function tidy(now, low, high)
  for _, key in ipairs(call('ZRANGEBYSCORE', cleanup, '-inf', text(now), 'LIMIT', 0, BOUND)) do
    tidy_record(key, now, low, high)
  end
end
