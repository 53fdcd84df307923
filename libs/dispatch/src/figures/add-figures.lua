-- Adds what a process has counted to the figures of the fleet.
-- A: process, batch (id; a repeat of the latest batch of this process is a no-op), totals? {field: number},
--    uses? [{name (JSON text: [model, agent, tenant]), fields {field: number}}]
-- outcome: ok
-- The number of names is bounded: what exceeds it is added to A.other.
local last = key('figbatch', A.process)
if redis.call('GET', last) == A.batch then return answer('ok') end
local totals, uses = P .. 'figures', P .. 'uses'
for field, count in pairs(A.totals or {}) do redis.call('HINCRBYFLOAT', totals, field, count) end
for _, use in ipairs(A.uses or {}) do
  local name = use.name
  if redis.call('HEXISTS', uses, name .. ':requests') == 0 and redis.call('HLEN', uses) >= A.maxFields then name = A.other end
  for field, count in pairs(use.fields) do redis.call('HINCRBYFLOAT', uses, name .. ':' .. field, count) end
end
redis.call('SET', last, A.batch, 'PX', 3600000)
return answer('ok')
