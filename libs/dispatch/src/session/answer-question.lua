-- Stores a person's answer to a question; the first one counts.
-- A: tenant, threadId, questionId, answer (JSON text)
-- outcome: ok | not_found | answered
local question = key('question', A.questionId)
local found = redis.call('HMGET', question, 'tenant', 'threadId', 'answer')
if found[1] ~= A.tenant or found[2] ~= resolve(A.tenant, A.threadId) then return answer('not_found') end
if found[3] then return answer('answered') end
redis.call('HSET', question, 'answer', A.answer)
return answer('ok')
