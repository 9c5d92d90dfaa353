-- KEYS: blob. Deleting what is not there succeeds; what is no blob stays.
local _, failure = blob(KEYS[1], clock())
if failure then return failure end
call('DEL', KEYS[1])
return {'deleted'}
