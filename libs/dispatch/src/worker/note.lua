-- Records a task's progress: an event outside a turn, not fenced, once per id.
-- A: taskId, noteId, type, fields
-- outcome: ok | gone
local task = hash(key('task', A.taskId))
if not task.taskId then return answer('gone') end
if redis.call('SET', key('sent', A.noteId), '1', 'NX', 'PX', C.idemTtlMs) then addTaskEvent(task, A.type, A.fields) end
return answer('ok')
