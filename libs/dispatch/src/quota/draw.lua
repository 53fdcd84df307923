-- Draws requests from token buckets, which fill with time. A draw takes the same number from each.
-- A: want, buckets [{id, perSecond, burst}]
-- outcome: drawn {granted, remaining (in the emptiest bucket), emptiest (its index, from 1), waitMs (until one request is
--    available; 0 if some were granted)}
local granted, remaining, waitMs, emptiest = A.want, nil, 0, 1
local levels = {}
for i, bucket in ipairs(A.buckets) do
  local held = redis.call('HMGET', key('rate', bucket.id), 'level', 'at')
  local level, at = tonumber(held[1]) or bucket.burst, tonumber(held[2]) or now
  level = math.min(bucket.burst, level + math.max(0, now - at) / 1000 * bucket.perSecond)
  levels[i] = level
  granted = math.min(granted, math.floor(level))
  if level < 1 then waitMs = math.max(waitMs, math.ceil((1 - level) / bucket.perSecond * 1000)) end
end
for i, bucket in ipairs(A.buckets) do
  local level = levels[i] - granted
  if not remaining or level < remaining then remaining, emptiest = level, i end
  redis.call('HSET', key('rate', bucket.id), 'level', string.format('%.3f', level), 'at', stamp)
  -- Afterwards the bucket is full, as an absent one is.
  redis.call('PEXPIRE', key('rate', bucket.id), math.ceil(bucket.burst / bucket.perSecond * 1000) + 1000)
end
return answer('drawn', { granted = granted, remaining = math.floor(remaining), emptiest = emptiest, waitMs = waitMs })
