-- Registers a worker. At the maximum number of workers, one that is idle or lost and was not seen for
-- busSilentMs is removed for it. Again: only the labels change, and a lost worker becomes idle. A polling
-- worker keeps its position, in the list of its new labels.
-- A: tenant, name, labels
-- outcome: registered {state} | full {limit} | too_many_sets {limit} (of labels of waiting workers)
local name = workerKey(A.tenant, A.name)
local worker = hash(name)
local known = key('bws', A.tenant)
if worker.state == 'polling' and worker.labels ~= A.labels and isOneWaitingSetTooMany(A.tenant, A.labels) then
  return answer('too_many_sets', { limit = C.busMaxWaitingSets })
end
if not worker.name and redis.call('ZCARD', known) >= C.busMaxWorkers then
  local forgotten
  for _, one in ipairs(redis.call('ZRANGEBYSCORE', known, '-inf', now - C.busSilentMs, 'LIMIT', 0, 100)) do
    local state = redis.call('HGET', workerKey(A.tenant, one), 'state')
    if state == 'idle' or state == 'lost' then forgotten = one break end
  end
  if not forgotten then return answer('full', { limit = C.busMaxWorkers }) end
  redis.call('DEL', workerKey(A.tenant, forgotten))
  count('workers', -redis.call('ZREM', known, forgotten))
end
redis.call('HSET', name, 'name', A.name, 'labels', A.labels)
redis.call('HSETNX', name, 'registeredAt', stamp)
redis.call('SADD', P .. 'btenants', A.tenant)
redis.call('ZADD', P .. 'btidy', 'NX', now, A.tenant)
seen(A.tenant, A.name)
if not worker.state or worker.state == 'lost' then
  moveWorker(A.tenant, A.name, 'idle')
  busEvent(A.tenant, 'bus.worker_registered', { worker = A.name })
elseif worker.state == 'polling' and worker.labels ~= A.labels then
  local since = redis.call('ZSCORE', key('bpolling', A.tenant), A.name)
  stopWaiting(A.tenant, A.name, worker.labels)
  worker.labels = A.labels
  local task = pick(A.tenant, A.labels)
  if task then
    signalPoll(worker.replica, { kind = 'bus_assigned', poll = worker.poll, task = assign(A.tenant, task, A.name) })
  else
    wait(A.tenant, worker, since)
  end
end
return answer('registered', { state = redis.call('HGET', name, 'state') })
