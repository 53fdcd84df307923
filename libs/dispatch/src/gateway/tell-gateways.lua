-- Signals to the gateways.

-- Says something to every gateway, or to one, and keeps it for a while under an id for those that were cut off at that
-- moment. What is large, or for a gateway that is gone, is only said. `text` is a JSON object.
local function tellGateways(replica, text)
  local to = replica and ':' .. replica or ''
  if #text <= 65536 and (not replica or redis.call('EXISTS', key('gw', replica)) == 1) then
    local kept = P .. 'signals' .. to
    local id = redis.call('XADD', kept, 'MAXLEN', '~', 1000, '*', 'text', text)
    redis.call('PEXPIRE', kept, 3600000)
    text = '{"id":"' .. id .. '",' .. string.sub(text, 2)
  end
  redis.call('PUBLISH', P .. 'gateways' .. to, text)
end

-- The session of a thread lists its tools again, through whichever gateway it is connected to.
local function tellToolsChanged(threadId)
  tellGateways(nil, cjson.encode({ kind = 'list_changed', list = 'tools', keyId = threadId }))
end
