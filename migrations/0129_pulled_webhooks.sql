-- Webhooks whose receivers fetch their messages.

-- The place of a message in the order in which it was first handed out; null while it was not. It is given under the lock of
-- the lane, so that no message appears before one that a receiver has acknowledged.
alter table webhook_message add column pull_seq bigint;
create index webhook_message_pulled on webhook_message (org_id, webhook_id, pull_seq) where pull_seq is not null;

alter table webhook_lane
  -- True if nothing is sent: the lane is never due.
  add column pulled   boolean not null default false,
  -- The last place that was given.
  add column pull_seq bigint not null default 0;
