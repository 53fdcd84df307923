-- Ends a poll that has received no task.
-- A: tenant, name, poll, gone (the poller has disconnected: a task assigned meanwhile goes back without
--    counting as lost)
-- outcome: left | over (the worker has another poll, or none) | assigned {task}
local T = A.tenant
local worker = hash(workerKey(T, A.name))
if worker.poll ~= A.poll then return answer('over') end
if worker.state == 'pending' then
  local task = hash(taskKey(T, worker.task))
  local isPending = isPendingOn(task, A.name)
  if isPending and not A.gone then return answer('assigned', { task = assignmentOf(T, worker.task) }) end
  moveWorker(T, A.name, 'idle')
  if isPending then enqueue(T, task, 'poller_left') end
  return answer('left')
end
stopWaiting(T, A.name, worker.labels)
moveWorker(T, A.name, 'idle')
return answer('left')
