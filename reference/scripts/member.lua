-- Reads members of the official layout by walking their bytes: cmsgpack.unpack
-- would accept other types and widths, and would copy a value that nobody asked
-- for.

-- str returns the first and the last index of the text of a str that starts at
-- i, or nothing if there is none in its smallest width.
local function str(m, i)
  local head, a, b, c, d = string.byte(m, i, i + 4)
  local first, size
  if not head then
    return
  elseif head >= 0xa0 and head <= 0xbf then
    first, size = i + 1, head - 0xa0
  elseif head == 0xd9 and a and a >= 32 then
    first, size = i + 2, a
  elseif head == 0xda and b and a > 0 then
    first, size = i + 3, a * 256 + b
  elseif head == 0xdb and d and a + b > 0 then
    first, size = i + 5, ((a * 256 + b) * 256 + c) * 256 + d
  else
    return
  end
  if first + size - 1 > #m then return end
  return first, first + size - 1
end

-- uint returns an unsigned int that starts at i, and its last index, or nothing
-- if there is none in its smallest width. Above 2^53 it is rounded, which is
-- near enough to judge an expiry; above 2^63 - 1 it is no time.
local function uint(m, i)
  local head = string.byte(m, i)
  if not head then return end
  if head < 0x80 then return head, i end
  local width, least = 1, 0x80
  if head == 0xcd then
    width, least = 2, 0x100
  elseif head == 0xce then
    width, least = 4, 0x10000
  elseif head == 0xcf then
    width, least = 8, 0x100000000
  elseif head ~= 0xcc then
    return
  end
  if i + width > #m then return end
  local n = 0
  for at = i + 1, i + width do
    n = n * 256 + string.byte(m, at)
  end
  if n < least or (width == 8 and string.byte(m, i + 1) > 0x7f) then return end
  return n, i + width
end

-- parse returns the parts of a member of the record of key, or nothing if its
-- bytes are not exactly what the layout allows.
local function parse(m, key)
  if string.byte(m, 1) ~= 0x01 or string.byte(m, 2) ~= 0x95 then return end
  local key_first, key_last = str(m, 3)
  if not key_first or string.sub(m, key_first, key_last) ~= key then return end
  local first, last = str(m, key_last + 1)
  if not first then return end
  local version_first, version_last = str(m, last + 1)
  if not version_first then return end
  local version_size = version_last - version_first + 1
  if version_size < 1 or version_size > 4096 then return end
  local expires, at = uint(m, version_last + 1)
  if not expires or #m ~= at + 1 then return end
  local tombstone = string.byte(m, #m)
  if tombstone ~= 0xc2 and tombstone ~= 0xc3 then return end
  return {
    first = first,
    last = last,
    size = last - first + 1,
    version = string.sub(m, version_first, version_last),
    expires = expires,
    tombstone = tombstone == 0xc3,
  }
end

local function live(member, now)
  return not member.tombstone and (member.expires == 0 or member.expires > now)
end
