-- Records which Redis this is. A new replication id means that another one took over, by a fail-over or a
-- restart.
-- A: replicationId
-- outcome: same | first | changed
local server = P .. 'server'
local before = redis.call('HGET', server, 'replicationId')
if before == A.replicationId then return answer('same') end
redis.call('HSET', server, 'replicationId', A.replicationId)
if not before then return answer('first') end
redis.call('HINCRBY', server, 'changes', 1)
redis.call('DEL', P .. 'bcounts') -- the totals may be wrong: a torn log may have lost half of a move
return answer('changed')
