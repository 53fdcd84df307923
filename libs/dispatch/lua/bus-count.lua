-- Counts what all buses hold, where nobody has.
-- outcome: ok
countAll()
return answer('ok')
