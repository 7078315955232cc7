-- Messages that were given up are kept for a while, so that somebody can send them again with the same id.
create table webhook_parked_message (
  org_id      uuid not null,
  id          uuid not null,
  webhook_id  uuid not null,
  topic       text not null,
  body        bytea not null,
  event_count integer not null,
  -- Attempts made before.
  attempt     integer not null,
  -- `exhausted`: no attempt succeeded. `expired`: it waited for too long.
  reason      text not null check (reason in ('exhausted', 'expired')),
  created_at  timestamptz not null,
  parked_at   timestamptz not null,
  primary key (org_id, id),
  foreign key (org_id, webhook_id) references webhook (org_id, id) on delete cascade
);
create index webhook_parked_message_by_webhook on webhook_parked_message (org_id, webhook_id, parked_at, id);
create index webhook_parked_message_age on webhook_parked_message (parked_at);

-- Null in records from before.
alter table webhook_delivery
  add column duration_ms  integer,
  -- True when no further attempt follows by itself.
  add column final        boolean,
  add column next_attempt timestamptz;
