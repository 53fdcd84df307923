-- Sends a signal to the gateways, or to one of them.
-- A: replica? (only to this one), text (JSON object)
-- outcome: ok
notifyGateways(A.replica, A.text)
return answer('ok')
