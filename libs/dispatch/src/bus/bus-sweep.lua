-- Takes back overdue assignments and ends expired polls. Every gateway runs it every 1-2 s.
-- A: count, tidy? (also delete what has expired and repair lists, of at most this many tenants)
-- outcome: ok {rung [{threadId, owner?}], more (call again)}
local rung, handled = {}, 0
local last = tonumber(redis.call('GET', P .. 'bswept') or now)
redis.call('SET', P .. 'bswept', stamp)
-- While Redis or every gateway was down, workers could not acknowledge or send heartbeats: overdue tasks get
-- more time.
local away = now - last > C.busAwayMs
local function halves(member) return string.match(member, '^([^:]*):(.*)$') end

local most = A.count
if away then most = 100000 end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', P .. 'bdue', '-inf', now, 'LIMIT', 0, most)) do
  local T, id = halves(member)
  local task = hash(taskKey(T, id))
  local held = task.state == 'assigned' or task.state == 'in_progress'
  handled = handled + 1
  if not held then
    redis.call('ZREM', P .. 'bdue', member)
  elseif away then
    redis.call('HSET', taskKey(T, id), 'deadline', now + C.busAckMs)
    redis.call('ZADD', P .. 'bdue', now + C.busAckMs, member)
  else
    local reason = 'silent'
    if task.state == 'assigned' then reason = 'unacknowledged' end
    local ring = lose(T, task, reason)
    if ring then rung[#rung + 1] = ring end
  end
end

-- Polls that are over, but were not ended by their gateway.
for _, member in ipairs(redis.call('ZRANGEBYSCORE', P .. 'bpolls', '-inf', now - 5000, 'LIMIT', 0, A.count)) do
  local T, name = halves(member)
  local worker = hash(workerKey(T, name))
  stopWaiting(T, name, worker.labels or '')
  if worker.state == 'polling' then moveWorker(T, name, 'idle') end
end

countAll()

-- A twentieth of the tenants at a time, least recently checked first; an empty bus is removed.
if A.tidy then
  local some = math.min(A.tidy, math.ceil(redis.call('ZCARD', P .. 'btidy') / 20))
  for _, T in ipairs(some > 0 and redis.call('ZRANGE', P .. 'btidy', 0, some - 1) or {}) do
    redis.call('ZADD', P .. 'btidy', now, T)
    local function drop(state, ids)
      for _, id in ipairs(ids) do
        redis.call('DEL', taskKey(T, id))
        count(state, -redis.call('ZREM', inState(T, state), id))
        redis.call('ZREM', key('bts', T), id)
      end
    end
    for _, state in ipairs({ 'done', 'withdrawn', 'blocked', 'dead' }) do
      drop(state, redis.call('ZRANGEBYSCORE', inState(T, state), '-inf', now - C.retentionMs, 'LIMIT', 0, 500))
    end
    local kept = redis.call('ZCARD', inState(T, 'done'))
    if kept > C.busDoneCap then drop('done', redis.call('ZRANGE', inState(T, 'done'), 0, math.min(kept - C.busDoneCap, 500) - 1)) end
    for _, name in ipairs(redis.call('ZRANGEBYSCORE', key('bws', T), '-inf', now - C.retentionMs, 'LIMIT', 0, 500)) do
      local state = redis.call('HGET', workerKey(T, name), 'state')
      if state ~= 'polling' and state ~= 'pending' and state ~= 'executing' then
        redis.call('DEL', workerKey(T, name))
        count('workers', -redis.call('ZREM', key('bws', T), name))
      end
    end
    redis.call('PEXPIRE', key('bev', T), C.retentionMs)
    if redis.call('ZCARD', key('bts', T)) == 0 and redis.call('ZCARD', key('bws', T)) == 0 then
      redis.call('SREM', P .. 'btenants', T)
      redis.call('ZREM', P .. 'btidy', T)
    end
    -- Repairs lists from which a torn log dropped an entry, among the tasks longest in their state.
    for _, id in ipairs(redis.call('ZRANGE', inState(T, 'queued'), 0, 499)) do
      local task = hash(taskKey(T, id))
      if not redis.call('ZSCORE', key('bq', T .. ':' .. task.requires), id) then enqueue(T, task, 'mended') end
    end
    for _, state in ipairs({ 'assigned', 'in_progress' }) do
      for _, id in ipairs(redis.call('ZRANGE', inState(T, state), 0, 499)) do
        redis.call('ZADD', P .. 'bdue', 'NX', now, T .. ':' .. id)
      end
    end
  end
end
return answer('ok', { rung = rung, more = handled >= most })
