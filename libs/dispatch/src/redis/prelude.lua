-- Definitions that every script may use; link-script.ts prepends those that a script uses, so every
-- unindented line here must define something. A script runs alone in Redis, but a torn append-only file can
-- keep half of its effects: each script repairs what such a half may have left (see "Repair" in its header).
--
-- KEYS[1]  key prefix with its hash tag, e.g. "{h}:"; key() makes every key from it
-- ARGV[1]  arguments, a JSON object (A); A.seed is random, for ids and tokens that a script makes
-- C.<name> limits, replaced by their numbers: retentionMs idemTtlMs eventCap runCap transcriptBytes maxMail maxAttempts maxDepth
--          maxChildren maxChain maxChangedPaths auditCap tenantAuditCap maxKeys maxTickets maxConsoleSessions consoleSessionMs; of the bus: busAckMs busHeartbeatMs busSilentMs busAwayMs busMaxLosses
--          busMaxTasks busMaxWorkers busDoneCap busEventCap
-- Result   a JSON object with `outcome`
-- Time     Redis TIME only, in ms

local P = KEYS[1]
local A = cjson.decode(ARGV[1])

local function key(kind, id) return P .. kind .. ':' .. id end

local function answer(outcome, fields)
  fields = fields or {}
  fields.outcome = outcome
  return cjson.encode(fields)
end

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- Milliseconds need 13 digits; tostring() would round them to 1.7e+12.
local stamp = string.format('%.0f', now)

local function hash(name)
  local flat = redis.call('HGETALL', name)
  local fields = {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end

-- Sets the fields of a hash; nil values are skipped because a Lua table cannot hold them.
local function setFields(name, fields)
  local flat = {}
  for field, value in pairs(fields) do
    flat[#flat + 1] = field
    flat[#flat + 1] = value
  end
  redis.call('HSET', name, unpack(flat))
end

local function number(name, field) return tonumber(redis.call('HGET', name, field) or 0) or 0 end

local function decoded(text) return text and cjson.decode(text) or nil end

local function encodeList(list) return list and (#list == 0 and '[]' or cjson.encode(list)) or nil end
