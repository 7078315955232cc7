-- The epoch since which the row of a lane has counted each change: a new count of the messages begins one. What a holder knows
-- about an earlier count no longer applies.
alter table webhook_lane add column counted_epoch bigint not null default 0;
