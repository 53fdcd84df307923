-- Which Redis this is: another one than before took over, by a fail-over or a restart, when its replication id is new.
-- A: replicationId
-- outcome: same | first | changed
local server = P .. 'server'
local before = redis.call('HGET', server, 'replicationId')
if before == A.replicationId then return answer('same') end
redis.call('HSET', server, 'replicationId', A.replicationId)
if not before then return answer('first') end
redis.call('HINCRBY', server, 'changes', 1)
redis.call('DEL', P .. 'bcounts') -- a torn log may have lost half of a move
return answer('changed')
