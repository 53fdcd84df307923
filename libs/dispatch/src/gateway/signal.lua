-- A signal to the gateways, or to one of them.
-- A: replica? (to that one alone), text (JSON object)
-- outcome: ok
tellGateways(A.replica, A.text)
return answer('ok')
