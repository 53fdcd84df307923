-- Makes a version the current one of a thread's files, between its turns.
-- A: tenant, threadId, from ('' = none), files {version, changed [path], more, event (JSON text)}
-- outcome: set | not_found | in_progress {runId} | changed {version?} (it is not `from`)
-- A turn of a dead worker counts as in progress until the thread is claimed again: its commit may still arrive.
-- A repeat of what is set already changes nothing.
A.threadId = resolve(A.tenant, A.threadId)
local th = key('th', A.threadId)
local thread = redis.call('HMGET', th, 'tenant', 'run', 'files')
if thread[1] ~= A.tenant then return answer('not_found') end
if thread[3] == A.files.version then return answer('set') end
if thread[2] then return answer('in_progress', { runId = thread[2] }) end
if (thread[3] or '') ~= A.from then return answer('changed', { version = thread[3] or nil }) end
setVersion(A.threadId, A.files)
redis.call('HSET', th, 'updatedAt', stamp)
touchThread(A.threadId, A.tenant)
addFilesChanged(A.threadId, A.files)
return answer('set')
