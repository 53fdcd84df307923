-- Reads the order of a thread's messages, and that of the results in its event log. Only ids leave Redis: events have texts of
-- any length.
-- A: threadId, maxRuns, maxEvents, final [type]
-- outcome: ok {runs [runId, seq, …] (latest first), ends [runId] (latest first)}
local isFinal, ends = {}, {}
for _, type in ipairs(A.final) do isFinal[type] = true end
for _, entry in ipairs(redis.call('XREVRANGE', key('ev', A.threadId), '+', '-', 'COUNT', A.maxEvents)) do
  local fields = {}
  for i = 1, #entry[2], 2 do fields[entry[2][i]] = entry[2][i + 1] end
  if isFinal[fields.type] then ends[#ends + 1] = cjson.decode(fields.data).runId end
end
return answer('ok', { runs = redis.call('ZREVRANGE', key('runs', A.threadId), 0, A.maxRuns - 1, 'WITHSCORES'), ends = ends })
