-- The events of a thread and of all below it, in order: read from their logs, so that none is stored twice.
-- A: threadId, start (as XRANGE takes it), count, after? (a cursor: whether events after it are no longer kept)
-- outcome: ok {entries [[id, [field, value, …]]]} | trimmed {oldest}
local function idLess(a, b)
  local aMs, aN = string.match(a, '^(%d+)-?(%d*)$')
  local bMs, bN = string.match(b, '^(%d+)-?(%d*)$')
  if aMs ~= bMs then return tonumber(aMs) < tonumber(bMs) end
  return (tonumber(aN) or 0) < (tonumber(bN) or 0)
end

local threads = { A.threadId }
for i = 1, math.huge do
  if not threads[i] then break end
  for _, kid in ipairs(redis.call('SMEMBERS', key('kids', threads[i]))) do threads[#threads + 1] = kid end
end

if A.after then
  for _, threadId in ipairs(threads) do
    local log = key('ev', threadId)
    local oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
    if oldest and idLess(A.after, oldest[1]) then
      local info = redis.call('XINFO', 'STREAM', log)
      local fields = {}
      for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
      if fields['entries-added'] > fields.length then return answer('trimmed', { oldest = oldest[1] }) end
    end
  end
end

local found = {}
local horizon -- beyond it a thread that has more than it was asked for may have events that were not read
for i, threadId in ipairs(threads) do
  local entries = redis.call('XRANGE', key('ev', threadId), A.start, '+', 'COUNT', A.count)
  local last = entries[A.count]
  if last and (not horizon or idLess(last[1], horizon)) then horizon = last[1] end
  for _, entry in ipairs(entries) do
    local fields = entry[2]
    -- What is told on two threads of the tree counts once.
    if fields[#fields - 1] ~= 'copy' then found[#found + 1] = { entry[1], fields, i } end
  end
end
-- Logs of releases that gave no common ids may have the same id twice: then the thread decides.
table.sort(found, function(a, b)
  if a[1] == b[1] then return a[3] < b[3] end
  return idLess(a[1], b[1])
end)
local entries = {}
for _, event in ipairs(found) do
  if #entries == A.count or (horizon and idLess(horizon, event[1])) then break end
  entries[#entries + 1] = { event[1], event[2] }
end
return answer('ok', { entries = entries, full = horizon ~= nil or #found > A.count })
