-- Since when the messages of a lane are known to wait for their receiver, which acknowledges none, and the service time at which that was: the
-- receiver cannot fetch while the service is stopped.
alter table webhook_lane add column unfetched_since timestamptz, add column unfetched_ms double precision;
