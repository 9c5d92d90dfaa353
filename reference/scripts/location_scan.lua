-- KEYS: index. ARGV: namespace, snapshot id, prefix, end of the prefix as
-- ZRANGEBYLEX wants it, key after which the page starts (empty: first page),
-- limit, greatest size of a page in bytes.
-- Answers page, the clock, the key after which the next page starts (empty:
-- none), and the members of the page; or expired.
local id, prefix, to, after = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local limit, page_bytes = tonumber(ARGV[6]), tonumber(ARGV[7])
local MAX_ROWS = 2000 -- index rows that one page looks at
local MAX_READ = 16777216 -- bytes of members that one page reads

local now = clock()
local scan = ns .. 'scan:' .. id
local first_page = after == ''
local boundary, began, from

if first_page then
  -- Cleanup is a favour: it must not fail a scan of a Redis that can't write.
  pcall(function()
    purge_snapshots(now)
    tidy(now, boundaries())
  end)
  boundary, began, from = call('GET', ns .. 'sequence') or '0', now, '[' .. prefix
else
  local expiry = call('ZSCORE', snapshot_expiry, id)
  local snapshot = call('HMGET', scan, 'now', 'boundary', 'prefix')
  boundary, began, from = snapshot[2], tonumber(snapshot[1] or ''), '(' .. after
  if not expiry or tonumber(expiry) <= now or not began
    or not tonumber(boundary or '') or snapshot[3] ~= prefix then
    return {'expired'}
  end
end

local reply = {'page', text(now), ''}
local last = after

-- fill adds the members of the page to the reply. It answers whether index rows
-- are left, or a failure.
local function fill()
  local rows, size, read, items = 0, 0, 0, 0
  while true do
    local keys = call('ZRANGEBYLEX', index, from, to, 'LIMIT', 0, 100)
    if #keys == 0 then return false end
    local records = call('HMGET', map, unpack(keys))
    for i, key in ipairs(keys) do
      if items == limit or rows == MAX_ROWS or read > MAX_READ then return true end
      local record = records[i]
      if not own(record) then
        return false, fail('an index row has no map row of this namespace')
      end
      -- The snapshot's member is the newest at or below its boundary.
      local found = redis.pcall('ZREVRANGEBYSCORE', record, boundary, '-inf', 'LIMIT', 0, 1)
      if found.err then
        return false, fail('record ' .. string.sub(record, -64) .. ' of a scan is no ZSET')
      end
      local raw = found[1]
      local member = raw and parse(raw, key)
      if raw and not member then
        return false, fail('record ' .. string.sub(record, -64) .. ' of a scan is unreadable')
      end
      if member then
        read = read + #raw
      end
      if member and live(member, began) then
        local bytes = #key + member.size + #member.version
        -- One item always goes in, so that the scan makes progress.
        if items > 0 and size + bytes > page_bytes then return true end
        size = size + bytes
        items = items + 1
        reply[#reply + 1] = raw
      end
      rows = rows + 1
      last = key
    end
    from = '(' .. last
  end
end

local more, failure = fill()
if failure then return failure end
if more then
  reply[3] = last
  if first_page then
    -- Pins the history that later pages need. A scan that fits in one page
    -- writes nothing.
    call('ZADD', snapshot_boundary, boundary, id)
    call('ZADD', snapshot_expiry, text(now + SNAPSHOT_MS), id)
    call('HSET', scan, 'now', text(now), 'boundary', boundary, 'prefix', prefix)
    call('PEXPIREAT', scan, text(now + SNAPSHOT_MS))
  end
end
return reply
