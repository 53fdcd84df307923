-- Redeems a one-time ticket: deletes it and returns its content.
-- A: digest
-- outcome: ok {text} | unknown
local ticket = key('ticket', A.digest)
local text = redis.call('GET', ticket)
if not text then return answer('unknown') end
redis.call('DEL', ticket)
redis.call('ZREM', key('tickets', cjson.decode(text).holder), A.digest)
return answer('ok', { text = text })
