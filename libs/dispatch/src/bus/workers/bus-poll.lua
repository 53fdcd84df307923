-- Gives a polling worker a task, or adds it to the waiting workers. A worker that has not acknowledged its
-- task gets the same one again, since the reply to its last poll may have been lost; the deadline stays. A
-- new poll replaces an older one of the same worker.
-- A: tenant, name, poll (its id), replica, replicaTtlMs, waitMs (0 = do not wait)
-- outcome: assigned {task} | waiting | nothing | not_registered | wrong_state {state, taskId} | too_many_sets {limit} (of
--    labels of waiting workers)
local T = A.tenant
local name = workerKey(T, A.name)
local worker = hash(name)
if not worker.name then return answer('not_registered') end
seen(T, A.name)
if worker.state == 'executing' then
  return answer('wrong_state', { state = worker.state, taskId = worker.task })
end
local since
if worker.state == 'pending' then
  local task = hash(taskKey(T, worker.task))
  if isPendingOn(task, A.name) then
    redis.call('HSET', name, 'poll', A.poll, 'replica', A.replica)
    return answer('assigned', { task = assignmentOf(T, worker.task) })
  end
elseif worker.state == 'polling' then
  if worker.poll == A.poll then
    since = redis.call('ZSCORE', key('bpolling', T), A.name)
  else
    signalPoll(worker.replica, { kind = 'bus_poll_over', poll = worker.poll })
  end
  stopWaiting(T, A.name, worker.labels)
end

local task = pick(T, worker.labels)
if not task and A.waitMs == 0 then
  moveWorker(T, A.name, 'idle')
  return answer('nothing')
end
if not task and isOneWaitingSetTooMany(T, worker.labels) then
  moveWorker(T, A.name, 'idle')
  return answer('too_many_sets', { limit = C.busMaxWaitingSets })
end
worker['until'] = now + A.waitMs
redis.call('HSET', name, 'poll', A.poll, 'replica', A.replica, 'until', worker['until'])
if task then return answer('assigned', { task = assign(T, task, A.name) }) end
moveWorker(T, A.name, 'polling')
wait(T, worker, since or clock[1] * 1000000 + clock[2])
-- The gateway that asks is alive, even if its heartbeat is late: renew its liveness.
redis.call('SET', key('gw', A.replica), '1', 'PX', A.replicaTtlMs)
return answer('waiting')
