-- blob answers the expiry in ms of the blob at a key, nothing if it is absent or
-- expired, or nil and a failure if the key is not what the layout allows.
local function blob(key, now)
  local kind = call('TYPE', key).ok
  if kind == 'none' then return end
  if kind ~= 'string' then
    return nil, fail('the blob key is a ' .. kind .. ', want string')
  end
  local expires = call('PEXPIRETIME', key)
  if expires < 0 then
    return nil, fail('the blob has no expiry')
  end
  -- Redis judges by the time at which the script began, and only once the
  -- expiry is past; the store's rule is expiresAt <= StoreNow.
  if expires > now then return expires end
end
