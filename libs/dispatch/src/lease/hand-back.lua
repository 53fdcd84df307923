-- Hands a begun turn back uncommitted, without counting the attempt: a drain or a self-fence is not a crash.
-- A: threadId, me, epoch, nonce, files? {version, changed [path], more, event (JSON text)}: the new version of the thread's
--    files; filesLost?
-- outcome: ok | fenced
if not fenced(A.threadId) then return answer('fenced') end
local th = key('th', A.threadId)
if redis.call('HGET', th, 'nonce') == A.nonce then
  -- A fork has no part of the open run: neither of its conversation, nor of its files.
  if A.files then redis.call('HSETNX', th, 'filesBefore', redis.call('HGET', th, 'files') or '') end
  setVersion(A.threadId, A.files)
  noteLost(A.threadId, A.filesLost)
  addFilesChanged(A.threadId, A.files)
  local runId = redis.call('HGET', th, 'run')
  redis.call('HINCRBY', th, 'attempt', -1)
  redis.call('HDEL', th, 'nonce', 'run', 'tried')
  if runId and redis.call('EXISTS', key('run', runId)) == 1 then
    redis.call('HSET', key('run', runId), 'status', 'pending')
    -- The version has the files of the message; put there again, they would replace what the turn made of them.
    if A.files then redis.call('HDEL', key('run', runId), 'filesIn') end
  end
end
return answer('ok')
