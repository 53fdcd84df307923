-- The version of the data's shape, in the hash `version`: data (its version), least (the oldest version whose
-- release can run on it), unfinished (during a migration, or after one failed: the version up to which it is
-- done).
-- A: move, data, least (what to record; `least` is also the oldest version that this release can run beside)
--    enter:  readFrom (the oldest version that this release reads without a migration)
--    begin:  force?
--    step:   done (the version up to which the migration is done)
--    finish, keep: nothing more
-- outcome: ok {from (the version found; absent on an empty database)} | newer {found, least} | migrate {found} |
--    unfinished {found} | running {found, gateways, workers} | unreadable
-- Data without a record is that of the first releases and counts as version 1.
local record = P .. 'version'
local kind = redis.call('TYPE', record).ok
if kind ~= 'none' and kind ~= 'hash' then return answer('unreadable') end
local found = hash(record)
local function isVersion(text) return not text or string.find(text, '^[1-9]%d*$') ~= nil end
local isWhole = (found.data == nil) == (found.least == nil)
if not (isWhole and isVersion(found.data) and isVersion(found.least) and isVersion(found.unfinished)) then return answer('unreadable') end

-- Processes are counted by their subscriptions, which end with the process; the liveness key of a killed one
-- would remain.
local function running()
  local gateways, channels = 0, P .. 'gateways:'
  for _, channel in ipairs(redis.call('PUBSUB', 'CHANNELS', channels .. '*')) do
    -- Workers subscribe to signals, too; only a gateway has this key.
    if redis.call('EXISTS', key('gw', string.sub(channel, #channels + 1))) == 1 then gateways = gateways + 1 end
  end
  local workers = #redis.call('PUBSUB', 'CHANNELS', P .. 'ctl:*')
  return gateways + workers > 0 and { gateways = gateways, workers = workers } or nil
end

local function hasData()
  local marks = { 'trim', 'tenants', 'btenants', 'workers', 'secret', 'plugins:off', 'profiles:agents', 'profiles:skills' }
  for i, name in ipairs(marks) do marks[i] = P .. name end
  return redis.call('EXISTS', unpack(marks)) > 0
end

local function write() redis.call('HSET', record, 'data', A.data, 'least', A.least) end

if A.move == 'keep' then
  if not found.data then write() end
  return answer('ok')
elseif A.move == 'step' then
  redis.call('HSET', record, 'unfinished', A.done)
  return answer('ok')
elseif A.move == 'finish' then
  redis.call('HDEL', record, 'unfinished')
  return answer('ok')
end

local version = tonumber(found.unfinished or found.data)
local others
if not version then
  others = running()
  if others or hasData() then version = 1 end
end
if not version then
  write()
  return answer('ok')
end
local recorded = tonumber(found.data or version)
if recorded > A.data then
  if A.move == 'enter' and not found.unfinished and tonumber(found.least) <= A.data then return answer('ok', { from = recorded }) end
  return answer('newer', { found = recorded, least = tonumber(found.least) })
end

if A.move == 'enter' then
  if found.unfinished then return answer('unfinished', { found = recorded }) end
  if version == A.data then
    if not found.data then write() end
    return answer('ok', { from = version })
  end
  if version < A.readFrom then return answer('migrate', { found = version }) end
  if version < A.least then others = others or running() else others = nil end
elseif version < A.data or found.unfinished then
  if A.force then others = nil else others = others or running() end
else
  others = nil
end
if others then
  others.found = version
  return answer('running', others)
end
write()
if A.move == 'begin' and version < A.data then redis.call('HSET', record, 'unfinished', version) end
return answer('ok', { from = version })
