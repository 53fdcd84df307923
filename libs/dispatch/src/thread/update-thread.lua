-- Changes what a thread's sessions are created from; its next turn starts a new session where that differs.
-- A: threadId, tenant, set {…strings}, clear [names], sender? {keyId, tools? [name]}
-- outcome: updated | not_found | too_wide (tools that its parent or the sender does not have) | above (the thread has
--    tools that the sender does not have: what it wrote into the prompt would act with them)
A.threadId = resolve(A.tenant, A.threadId)
local th = key('th', A.threadId)
if redis.call('HGET', th, 'tenant') ~= A.tenant then return answer('not_found') end

local clears = {}
for _, name in ipairs(A.clear) do clears[name] = true end
local senderTools = A.sender and A.sender.tools
local function steers(name) return A.set[name] or clears[name] end
if senderTools and (steers('systemPrompt') or steers('allowedTools') or steers('agent') or steers('skill')) then
  local held = decoded(redis.call('HGET', th, 'allowedTools'))
  if not held then return answer('above') end
  for _, tool in ipairs(held) do
    if not covers(senderTools, tool) then return answer('above') end
  end
end
local parentThreadId = redis.call('HGET', th, 'parentThreadId')
local limit = commonTools(parentThreadId and toolsOf(hash(key('th', parentThreadId))) or nil, senderTools)
if limit and clears.allowedTools then return answer('too_wide') end
if limit and A.set.allowedTools then
  for _, tool in ipairs(cjson.decode(A.set.allowedTools)) do
    if not covers(limit, tool) then return answer('too_wide') end
  end
end

for name, value in pairs(A.set) do redis.call('HSET', th, name, value) end
for _, name in ipairs(A.clear) do redis.call('HDEL', th, name) end
redis.call('HSET', th, 'updatedAt', stamp)
touchThread(A.threadId, A.tenant)
return answer('updated')
