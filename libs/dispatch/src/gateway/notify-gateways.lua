-- Signals to gateways.

-- Publishes a signal to every gateway or to one, and keeps it for a while with an id for gateways that are
-- disconnected at that moment. A large signal, and one to a dead gateway, is only published. `text`: a JSON
-- object.
local function notifyGateways(replica, text)
  local to = replica and ':' .. replica or ''
  if #text <= 65536 and (not replica or redis.call('EXISTS', key('gw', replica)) == 1) then
    local kept = P .. 'signals' .. to
    local id = redis.call('XADD', kept, 'MAXLEN', '~', 1000, '*', 'text', text)
    redis.call('PEXPIRE', kept, 3600000)
    text = '{"id":"' .. id .. '",' .. string.sub(text, 2)
  end
  redis.call('PUBLISH', P .. 'gateways' .. to, text)
end

-- Makes a thread's session list its tools again, whichever gateway it is connected to.
local function notifyToolsChanged(threadId)
  notifyGateways(nil, cjson.encode({ kind = 'list_changed', list = 'tools', keyId = threadId }))
end
