-- Step 8: finds what a lost doorbell, a dead worker or a torn log left behind. Run by every worker, every 1-2 s.
-- A: graceMs, busyGraceMs, taskGraceMs, count
-- outcome: ok {ring [{threadId, owner?}], tasks [taskId], dead [workerId]}
local ring, tasks, dead = {}, {}, {}
for _, threadId in ipairs(redis.call('ZRANGEBYSCORE', P .. 'pend', '-inf', now - A.graceMs, 'LIMIT', 0, A.count)) do
  local owner = liveOwner(threadId)
  ring[#ring + 1] = { threadId = threadId, owner = owner }
  -- A live owner is most likely at work on it: look again later.
  redis.call('ZADD', P .. 'pend', 'XX', now + (owner and A.busyGraceMs or 0), threadId)
end
for _, taskId in ipairs(redis.call('ZRANGEBYSCORE', P .. 'working', '-inf', now - A.taskGraceMs, 'LIMIT', 0, A.count)) do
  redis.call('ZADD', P .. 'working', 'XX', now, taskId)
  local threadId = redis.call('HGET', key('task', taskId), 'threadId')
  if not threadId then
    redis.call('ZREM', P .. 'working', taskId)
  elseif redis.call('XLEN', key('mb', threadId)) == 0 then
    tasks[#tasks + 1] = taskId
  end
end
for _, workerId in ipairs(redis.call('SMEMBERS', P .. 'workers')) do
  if redis.call('EXISTS', key('w', workerId)) == 0 then dead[#dead + 1] = workerId end
end
for _, tenant in ipairs(redis.call('SMEMBERS', P .. 'tenants')) do
  for _, list in ipairs({ 'ths', 'tasks' }) do
    redis.call('ZREMRANGEBYSCORE', key(list, tenant), '-inf', now - C.retentionMs)
  end
end
return answer('ok', { ring = ring, tasks = tasks, dead = dead })
