-- The messages of the lane that have been parked because they waited for too long, and that no event of the service has reported
-- yet. They are parked in portions, each in a transaction of its own, and reported together. See
-- docs/decisions/0458-old-messages-are-parked-in-portions.md.
alter table webhook_lane add column unreported integer not null default 0;
