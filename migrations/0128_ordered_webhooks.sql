-- Messages of a webhook that gets those of each device in order.

alter table webhook_message add column order_key text;
alter table webhook_parked_message add column order_key text;
create index webhook_message_ordered on webhook_message (org_id, webhook_id, order_key, id) where order_key is not null;
-- Messages that others wait for.
create index webhook_message_retried on webhook_message (org_id, webhook_id, order_key, id)
  where order_key is not null and attempt > 0;

-- True if messages have keys: then they are always claimed, because only a claim knows which of them wait for others.
alter table webhook_lane add column keyed boolean not null default false;
