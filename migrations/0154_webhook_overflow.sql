-- Messages that were not queued because too many waited already, and when the last one was. Adding the columns rewrites nothing.
alter table webhook_lane
  add column overflowed    bigint not null default 0,
  add column overflowed_at timestamptz;
create index webhook_lane_overflowed on webhook_lane (overflowed_at) where overflowed_at is not null;
