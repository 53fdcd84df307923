-- Creates a thread.
-- A: threadId, named? (a caller chose the id), fields {tenant, …strings}, sender? {keyId, tools? [name]}, quota?,
--    staged? {id, names}: transcripts below another id, which become those of the thread (fork-thread.ts)
-- outcome: created | exists | quota {limit, of, allowed}
local threadId = A.threadId
if A.named then
  threadId = resolve(A.fields.tenant, A.threadId)
  if threadId ~= A.threadId then A.fields.alias = A.threadId end
end
if redis.call('HEXISTS', key('th', threadId), 'tenant') == 1 then return answer('exists') end
local reached = quotaReached('threads', A.fields.tenant)
if reached then return answer('quota', reached) end
A.fields.root = threadId
A.fields.allowedTools = encodeList(commonTools(decoded(A.fields.allowedTools), A.sender and A.sender.tools))
A.fields.heldBy = hold('threads', A.fields.tenant, threadId)
if A.staged then
  for _, name in ipairs(A.staged.names) do
    for _, suffix in ipairs({ '', ':uuids' }) do
      local from, to = key('sess', A.staged.id .. ':' .. name .. suffix), key('sess', threadId .. ':' .. name .. suffix)
      if redis.call('EXISTS', from) == 1 then
        if from ~= to then redis.call('RENAME', from, to) end
        redis.call('PERSIST', to)
      end
    end
    redis.call('SADD', key('sess', threadId), name)
  end
end
makeThread(threadId, A.fields)
return answer('created')
