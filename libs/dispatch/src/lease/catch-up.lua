-- The current state of a worker's threads, after an outage or missed control messages.
-- A: me, workerId, held [{threadId, epoch, runId?}]
-- outcome: ok {lost [threadId] (another owner, deleted, or the claim was lost by Redis), cancel [runId],
--    interrupt [runId], drain}
-- A higher epoch with the same owner comes from the worker's own recent raise-epoch.
local lost, cancel, interrupt = {}, {}, {}
for _, held in ipairs(A.held) do
  local thread = redis.call('HMGET', key('th', held.threadId), 'owner', 'epoch')
  if thread[1] ~= A.me or tonumber(thread[2]) < held.epoch then
    lost[#lost + 1] = held.threadId
  elseif held.runId then
    local run = redis.call('HMGET', key('run', held.runId), 'cancel', 'seq', 'kind')
    if run[1] == '1' then
      cancel[#cancel + 1] = held.runId
    elseif overtaken(held.threadId, tonumber(run[2]) or 0, run[3]) then
      interrupt[#interrupt + 1] = held.runId
    end
  end
end
return answer('ok', { lost = lost, cancel = cancel, interrupt = interrupt,
  drain = redis.call('EXISTS', key('drain', A.workerId)) == 1 })
