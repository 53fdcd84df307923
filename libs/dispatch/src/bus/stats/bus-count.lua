-- Computes the totals of all buses (hash `bcounts`) if they are missing.
-- outcome: ok
countAll()
return answer('ok')
