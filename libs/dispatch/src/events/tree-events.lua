-- The events of a thread and of all threads below it, in order: merged from their logs, so that none is
-- stored twice.
-- A: threadId, start (as XRANGE takes it), count, after? (a cursor: checks only whether events after it were
--    trimmed)
-- outcome: ok {entries [[id, [field, value, …]]], full (there may be more)} | trimmed {oldest}
local function idLess(a, b)
  local aMs, aN = string.match(a, '^(%d+)-?(%d*)$')
  local bMs, bN = string.match(b, '^(%d+)-?(%d*)$')
  if aMs ~= bMs then return tonumber(aMs) < tonumber(bMs) end
  return (tonumber(aN) or 0) < (tonumber(bN) or 0)
end

-- The threads that may have events from `start` on: a root records when each thread had its latest event.
local function threadsFrom(start)
  local head = headOf(A.threadId)
  if head.root == A.threadId and head.tail then
    return redis.call('ZRANGEBYSCORE', key('evs', A.threadId), string.match(start, '%d+') or '-inf', '+inf')
  end
  local threads = { A.threadId }
  for i = 1, math.huge do
    if not threads[i] then return threads end
    for _, kid in ipairs(redis.call('SMEMBERS', key('kids', threads[i]))) do threads[#threads + 1] = kid end
  end
end

if A.after then
  for _, threadId in ipairs(threadsFrom(A.after)) do
    local log = key('ev', threadId)
    local oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
    if oldest and idLess(A.after, oldest[1]) then
      local info = redis.call('XINFO', 'STREAM', log)
      local fields = {}
      for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
      if fields['entries-added'] > fields.length then return answer('trimmed', { oldest = oldest[1] }) end
    end
  end
  return answer('ok', { entries = {}, full = false })
end

-- A part of each log at a time, so that a large tree is read in small steps.
local threads = threadsFrom(A.start)
local chunk = math.max(4, math.min(A.count, math.floor(4 * A.count / math.max(#threads, 1))))
local start, entries, horizon = A.start, {}, nil
repeat
  local found = {}
  horizon = nil -- beyond it, a log that was not read to its end may have more events
  for i, threadId in ipairs(threads) do
    local read = redis.call('XRANGE', key('ev', threadId), start, '+', 'COUNT', chunk)
    local last = read[chunk]
    if last and (not horizon or idLess(last[1], horizon)) then horizon = last[1] end
    for _, entry in ipairs(read) do
      local fields = entry[2]
      -- An event stored on two threads of the tree counts once.
      if fields[#fields - 1] ~= 'copy' then found[#found + 1] = { entry[1], fields, i } end
    end
  end
  -- Logs of releases without common ids may have the same id twice: then the thread's order decides.
  table.sort(found, function(a, b)
    if a[1] == b[1] then return a[3] < b[3] end
    return idLess(a[1], b[1])
  end)
  for _, event in ipairs(found) do
    if horizon and idLess(horizon, event[1]) then break end
    if #entries == A.count then
      horizon = horizon or event[1]
      break
    end
    entries[#entries + 1] = { event[1], event[2] }
  end
  if horizon then start = '(' .. horizon end
until #entries > 0 or not horizon
return answer('ok', { entries = entries, full = horizon ~= nil })
