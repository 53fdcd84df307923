-- The bus of external workers: states, and the steps of every move (shared definitions). The queue, and how it is
-- matched with waiting workers, is in bus-queue.lua; what the bus does for delegated tasks is in bus-delegated.lua.
-- Each tenant (T) has one bus. `id` is a bus task's id, chosen by the submitter.
--
-- A bus task. Every arrow is one script; a move from any other state is refused with the current state.
--
--                  +-- poller left, reset_worker, or -+
--                  v  unacknowledged for busAckMs     |
--   submit --> queued --poll, or a worker waits--> assigned --ack--> in_progress --done--> done
--              ^ ^ ^                                                  | |    |
--              | | +---- silent for busSilentMs, reset_worker --------+ |    +--failed--> blocked
--              | +------------------- retry_task -----------------------+                   |
--              +--------------------- retry_task, from dead, too ---------------------------+
--   assigned, in_progress --lost for the busMaxLosses-th time--> dead
--   queued, assigned, in_progress --the delegated task is cancelled--> withdrawn
--
-- A worker: idle --poll--> polling --assigned--> pending --ack--> executing --done, failed--> idle;
-- pending, executing --its lease runs out--> lost --poll, register, reset--> idle or polling; reset: any --> idle.
--
-- B1 A task has at most one valid lease: assign() alone creates one, and enqueue() ends it.
-- B2 A task has at most one accepted result: only in_progress becomes done, and done is final.
-- B3 A queued task and a waiting worker that fit each other never coexist: whichever is added looks for the
-- other in the same script.
-- B4 The order is priority, then age (submission): a task that returns to the queue gets its old position.
-- Repair: the hashes are the source of truth. A name in a list whose hash disagrees is dropped when found; a
--    name that a torn log dropped from its list is added again by the sweep.

-- Keys of a task's hash, a worker's hash, and the list of tasks in a state. Other lists are named where they
-- are used.
local function taskKey(T, id) return key('bt', T .. ':' .. id) end
local function workerKey(T, name) return key('bw', T .. ':' .. name) end
local function inState(T, state) return key('bst', T .. ':' .. state) end

local function busEvent(T, type, fields)
  redis.call('XADD', key('bev', T), 'MAXLEN', '~', C.busEventCap, '*', 'type', type, 'at', stamp, 'data', cjson.encode(fields))
  redis.call('PUBLISH', key('chbus', T), '')
end

-- Updates the totals of all buses: tasks by state, workers, waiting workers. Does nothing while the totals
-- are missing: a partial hash would never be computed anew.
local function count(what, change)
  if change ~= 0 and redis.call('EXISTS', P .. 'bcounts') == 1 then redis.call('HINCRBY', P .. 'bcounts', what, change) end
end

-- Computes the totals if they are missing: at first, and after note-server.lua has deleted them.
local function countAll()
  if redis.call('EXISTS', P .. 'bcounts') == 1 then return end
  local sums = { workers = 0, polling = 0 }
  for _, T in ipairs(redis.call('SMEMBERS', P .. 'btenants')) do
    redis.call('ZADD', P .. 'btidy', 'NX', now, T)
    for _, state in ipairs({ 'queued', 'assigned', 'in_progress', 'done', 'blocked', 'dead', 'withdrawn' }) do
      sums[state] = (sums[state] or 0) + redis.call('ZCARD', inState(T, state))
    end
    sums.workers = sums.workers + redis.call('ZCARD', key('bws', T))
    sums.polling = sums.polling + redis.call('ZCARD', key('bpolling', T))
  end
  setFields(P .. 'bcounts', sums)
end

local function moveTask(T, task, state)
  if task.state then count(task.state, -redis.call('ZREM', inState(T, task.state), task.taskId)) end
  count(state, redis.call('ZADD', inState(T, state), now, task.taskId))
  redis.call('HSET', taskKey(T, task.taskId), 'state', state, 'updatedAt', stamp)
  task.state = state
end

local function moveWorker(T, name, state)
  redis.call('HSET', workerKey(T, name), 'state', state, 'since', stamp)
  if state ~= 'pending' and state ~= 'executing' then redis.call('HDEL', workerKey(T, name), 'task') end
  if state ~= 'pending' and state ~= 'polling' then redis.call('HDEL', workerKey(T, name), 'poll', 'replica', 'until') end
end

local function seen(T, name)
  redis.call('HSET', workerKey(T, name), 'seenAt', stamp)
  count('workers', redis.call('ZADD', key('bws', T), now, name))
end

-- Whether the worker has this task and has not acknowledged it yet.
local function isPendingOn(task, name) return task.state == 'assigned' and task.worker == name end

-- Releases the worker of an assignment that ends, unless it has another task by now.
local function dismiss(T, task, state)
  if task.worker and redis.call('HGET', workerKey(T, task.worker), 'task') == task.taskId then
    moveWorker(T, task.worker, state)
  end
end

local function endLease(T, task)
  redis.call('ZREM', P .. 'bdue', T .. ':' .. task.taskId)
  redis.call('HDEL', taskKey(T, task.taskId), 'deadline')
end

-- Whether the caller holds the task's assignment: nil, or the reason why not. A task that was never assigned has no holder;
-- its state is the reason. The lease identifies the
-- assignment; without it the worker's name does; without both, the task must have been assigned only once.
local function leaseFault(task)
  local attempt = tonumber(task.attempt)
  if attempt == 0 then return nil end
  if A.lease then return A.lease ~= task.lease and 'lease_lost' or nil end
  if A.name then return task.worker ~= A.name and 'lease_lost' or nil end
  return attempt > 1 and 'lease_required' or nil
end

-- The result of an illegal move, with the current state.
local function refuse(task) return answer('wrong_state', { state = task.state }) end

-- Number of a tenant's unfinished tasks.
local function openTasks(T)
  local open = 0
  for _, state in ipairs({ 'queued', 'assigned', 'in_progress', 'blocked', 'dead' }) do
    open = open + redis.call('ZCARD', inState(T, state))
  end
  return open
end
