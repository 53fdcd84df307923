-- Appends entries to a session's transcript, fenced. Entries with a known uuid are skipped.
-- A: threadId, me, epoch, name (session id, or session id and subpath), entries [{uuid?, text}]
-- outcome: ok {added} | fenced | full {bytes}
-- Keys: sess:<threadId> set of names (total size in bytes: transcriptBytes in th); sess:<threadId>:<name>
--    list; …:uuids set
local th = key('th', A.threadId)
local held = redis.call('HMGET', th, 'owner', 'epoch', 'transcriptBytes')
if not isHolder(held[1], held[2]) then return answer('fenced') end
local list = key('sess', A.threadId .. ':' .. A.name)
local bytes = tonumber(held[3]) or 0
local added, isFull = {}, false
for _, entry in ipairs(A.entries) do
  if not entry.uuid or redis.call('SADD', list .. ':uuids', entry.uuid) == 1 then
    if bytes + #entry.text > C.transcriptBytes then
      if entry.uuid then redis.call('SREM', list .. ':uuids', entry.uuid) end
      isFull = true
      break
    end
    bytes = bytes + #entry.text
    added[#added + 1] = entry.text
  end
end
local stored = 0
-- In pieces: a command of a script takes some thousand arguments.
for first = 1, #added, 1000 do
  stored = redis.call('RPUSH', list, unpack(added, first, math.min(first + 999, #added)))
end
if #added > 0 then
  -- A new list is named in the set of the thread's lists.
  if stored == #added then redis.call('SADD', key('sess', A.threadId), A.name) end
  redis.call('HSET', th, 'transcriptBytes', bytes)
end
if isFull then return answer('full', { bytes = bytes }) end
return answer('ok', { added = #added })
