-- Counts a tenant's tasks by state and its workers.
-- A: tenant
-- outcome: ok {counts {state: n}, workers, polling, oldestQueuedAt? (ms)}
local T = A.tenant
local counts = {}
for _, state in ipairs({ 'queued', 'assigned', 'in_progress', 'done', 'blocked', 'dead', 'withdrawn' }) do
  counts[state] = redis.call('ZCARD', inState(T, state))
end
local oldest = redis.call('ZRANGE', inState(T, 'queued'), 0, 0, 'WITHSCORES')[2]
return answer('ok', { counts = counts, workers = redis.call('ZCARD', key('bws', T)), polling = redis.call('ZCARD', key('bpolling', T)),
  oldestQueuedAt = oldest and tonumber(oldest) })
