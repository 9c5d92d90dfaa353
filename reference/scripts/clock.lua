local call = redis.call

-- Redis's own time is the store's only clock: what a caller's host believes
-- never decides an expiry.
local function clock()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- tostring prints 14 significant digits (1e14 becomes "1e+14"), so every
-- number that leaves a script or enters a command is formatted here.
local function text(n)
  return string.format('%.0f', n)
end

local function fail(why)
  return redis.error_reply('ZLINK ' .. why)
end
