-- Makes a worker idle, from any state; its task goes back into the queue without counting as lost.
-- A: tenant, name
-- outcome: ok {before, taskId?} | not_registered
local T = A.tenant
local worker = hash(workerKey(T, A.name))
if not worker.name then return answer('not_registered') end
if worker.state == 'polling' then
  stopWaiting(T, A.name, worker.labels)
  signalPoll(worker.replica, { kind = 'bus_poll_over', poll = worker.poll })
end
moveWorker(T, A.name, 'idle')
local task = worker.task and hash(taskKey(T, worker.task))
if task and task.worker == A.name and (task.state == 'assigned' or task.state == 'in_progress') then
  enqueue(T, task, 'worker_reset')
end
return answer('ok', { before = worker.state, taskId = worker.task })
