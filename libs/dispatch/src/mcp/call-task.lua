-- A tool call that runs as a task: created, changed, resumed. A task that has ended does not change.
-- A: op, taskId, tenant, …
--   op 'create'  fields {name: text}, ttlMs
--   op 'move'    status, fields?, requests? {key: text}: the input that it needs from the client
--   op 'answer'  answerId, inputs {key: text}: the client's input; keys that were not requested are ignored. A repeat of
--                the answerId that resumed the call returns `resumed` again: the first reply may have been lost
-- outcome: ok {status, resumed?} | not_found | ended {status}
-- Keys: ctask:<taskId> hash: tenant, status, call, replica, createdAt, updatedAt, ttlMs, result, error, req:<key>, in:<key>, resumedBy
local task = key('ctask', A.taskId)
if A.op == 'create' then
  redis.call('HSET', task, 'tenant', A.tenant, 'status', 'working', 'createdAt', stamp, 'updatedAt', stamp, 'ttlMs', A.ttlMs)
  for name, text in pairs(A.fields) do redis.call('HSET', task, name, text) end
  redis.call('PEXPIRE', task, A.ttlMs)
  return answer('ok', { status = 'working' })
end

local held = redis.call('HMGET', task, 'tenant', 'status')
if held[1] ~= A.tenant then return answer('not_found') end
local status = held[2]
if status ~= 'working' and status ~= 'input_required' then return answer('ended', { status = status }) end

if A.op == 'move' then
  status = A.status
  for name, text in pairs(A.fields or {}) do redis.call('HSET', task, name, text) end
  for name, text in pairs(A.requests or {}) do redis.call('HSET', task, 'req:' .. name, text) end
  redis.call('HSET', task, 'status', status, 'updatedAt', stamp)
  return answer('ok', { status = status })
end

if status == 'working' and redis.call('HGET', task, 'resumedBy') == A.answerId then
  return answer('ok', { status = status, resumed = true })
end
local answered = 0
for name, text in pairs(A.inputs) do
  if redis.call('HDEL', task, 'req:' .. name) == 1 then
    redis.call('HSET', task, 'in:' .. name, text)
    answered = answered + 1
  end
end
local open = 0
for _, field in ipairs(redis.call('HKEYS', task)) do
  if string.sub(field, 1, 4) == 'req:' then open = open + 1 end
end
local resumed = answered > 0 and open == 0
if resumed then
  status = 'working'
  redis.call('HSET', task, 'replica', A.replica, 'resumedBy', A.answerId)
end
redis.call('HSET', task, 'status', status, 'updatedAt', stamp)
return answer('ok', { status = status, resumed = resumed })
