-- Whether a session's token still speaks for its thread: owner and epoch hold, the owner is alive, a run is under way.
-- A: threadId, epoch, owner? (absent in tokens of releases before it was written into them)
-- outcome: ok {runId, attempt, tools? (JSON text: what the run was narrowed to)} | idle (no run under way) | stale | gone
local th = hash(key('th', A.threadId))
if not th.tenant then return answer('gone') end
local isOwner = not A.owner or th.owner == A.owner
if not isOwner or tonumber(th.epoch) ~= A.epoch or not liveOwner(A.threadId) then return answer('stale') end
if not th.run then return answer('idle') end
return answer('ok', { runId = th.run, attempt = tonumber(th.attempt) or 1,
  tools = redis.call('HGET', key('run', th.run), 'tools') or nil })
