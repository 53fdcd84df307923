-- The latest run of each thread, with the beginnings of its texts.
-- A: threadIds
-- outcome: ok {runs [{threadId, runId, kind, status, createdAt, input, result?, error?}]}; threads without a run are left out
local bound = 800
local function begin(text) return text and string.sub(text, 1, bound) or nil end

local runs = {}
for _, threadId in ipairs(A.threadIds) do
  local runId = redis.call('ZREVRANGE', key('runs', threadId), 0, 0)[1]
  local run = runId and redis.call('HMGET', key('run', runId), 'kind', 'status', 'createdAt', 'input', 'result', 'error')
  if run and run[1] then
    runs[#runs + 1] = { threadId = threadId, runId = runId, kind = run[1], status = run[2], createdAt = run[3],
      input = begin(run[4]), result = begin(run[5]), error = run[6] and begin(cjson.decode(run[6]).message) or nil }
  end
end
return answer('ok', { runs = runs })
