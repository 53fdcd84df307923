-- Publishes what a gateway read from its folder of agents or skills. Where live gateways have different
-- folders, sessions get the profiles of the one that started or read a change last; the others do not
-- overwrite them.
-- A: kind, replica, digest, place, since? (from the previous result; absent: the gateway started, or its
--    folder changed),
--    count (of profiles), profiles? [name, JSON text, …], files? [name, JSON text {version, tenants?}, …] (of skills)
-- outcome: published | wanted (repeat the call with the profiles) | other (sessions get those of another
--    gateway)
--    {since, others [{replica, digest, place, isPublished}] (live gateways with different content)}
-- Entries of dead gateways are dropped. A live gateway whose entry was dropped during an outage of Redis is
-- added again.
local entries, profiles = key('folders', A.kind), key('profiles', A.kind)
local since = A.since or now
redis.call('HSET', entries, A.replica, cjson.encode({ digest = A.digest, place = A.place, since = since }))

local latest, others = { replica = A.replica, since = since }, {}
for replica, text in pairs(hash(entries)) do
  if replica == A.replica or replica == 'published' then
    -- Skip the caller's own entry and the digest of what is published.
  elseif redis.call('EXISTS', key('gw', replica)) == 0 then
    redis.call('HDEL', entries, replica)
  else
    local entry = cjson.decode(text)
    entry.replica = replica
    if entry.since > latest.since or entry.since == latest.since and replica > latest.replica then latest = entry end
    if entry.digest ~= A.digest then others[#others + 1] = entry end
  end
end
for _, entry in ipairs(others) do entry.isPublished = entry == latest or entry.digest == latest.digest end

local fields = { since = since, others = others }
if latest.replica ~= A.replica then return answer('other', fields) end
local isThere = A.count == 0 or redis.call('EXISTS', profiles) == 1
if isThere and redis.call('HGET', entries, 'published') == A.digest then return answer('published', fields) end
if not A.profiles then return answer('wanted', fields) end
redis.call('DEL', profiles)
for i = 1, #A.profiles, 2 do redis.call('HSET', profiles, A.profiles[i], A.profiles[i + 1]) end
local files = key('profiles', 'skill-files')
if A.kind == 'skills' then redis.call('DEL', files) end
for i = 1, #(A.files or {}), 2 do redis.call('HSET', files, A.files[i], A.files[i + 1]) end
redis.call('HSET', entries, 'published', A.digest)
return answer('published', fields)
