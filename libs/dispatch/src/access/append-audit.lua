-- Appends a gateway's batch of audit records to the audit of the installation, and each to its tenant's.
-- A: replica, batch (id; a repeat of the latest batch of this replica is a no-op),
--    records [tenant ('' = unknown), JSON text, …]
-- outcome: ok
-- Repair: a repeat after a torn log stores the records of the batch again.
local last = key('auditbatch', A.replica)
if redis.call('GET', last) == A.batch then return answer('ok') end

local oldest = string.format('%.0f', now - C.retentionMs)
local all, seen = P .. 'audit', {}
for i = 1, #A.records, 2 do
  local tenant, text = A.records[i], A.records[i + 1]
  redis.call('XADD', all, 'MAXLEN', '~', C.auditCap, '*', 'record', text)
  if tenant ~= '' then
    local own = key('audit', tenant)
    redis.call('XADD', own, 'MAXLEN', '~', C.tenantAuditCap, '*', 'record', text)
    seen[own] = true
  end
end
redis.call('XTRIM', all, 'MINID', '~', oldest)
for own in pairs(seen) do
  redis.call('XTRIM', own, 'MINID', '~', oldest)
  redis.call('PEXPIRE', own, C.retentionMs)
end
redis.call('SET', last, A.batch, 'PX', 3600000)
return answer('ok')
