-- Which of these threads have a text in their id, name, metadata, or the beginning of their latest message and result
-- (without regard to the case of a-z), and a value in their metadata.
-- A: threadIds, text?, field? {name, value}
-- outcome: ok {threadIds}
local bound = 4000
-- Both sides by the same rule: JavaScript's would change letters that Lua leaves as they are.
local wanted = string.lower(A.text or '')
local function has(text) return text and string.find(string.lower(string.sub(text, 1, bound)), wanted, 1, true) end

local function hasText(threadId, thread)
  if has(threadId) or has(thread[1]) or has(thread[2]) then return true end
  local runId = redis.call('ZREVRANGE', key('runs', threadId), 0, 0)[1]
  if not runId then return false end
  local run = redis.call('HMGET', key('run', runId), 'input', 'result')
  return has(run[1]) or has(run[2])
end

local function hasField(metadata)
  local value = (metadata and cjson.decode(metadata) or {})[A.field.name]
  return value ~= nil and (value == A.field.value or (type(value) ~= 'table' and tostring(value) == A.field.value))
end

local found = {}
for _, threadId in ipairs(A.threadIds) do
  local thread = redis.call('HMGET', key('th', threadId), 'alias', 'metadata')
  if (not A.field or hasField(thread[2])) and (not A.text or hasText(threadId, thread)) then found[#found + 1] = threadId end
end
return answer('ok', { threadIds = found })
