-- The router takes a bounded part of the outbox at a time, and sets aside what it cannot route.

alter table webhook_outbox
  -- Length of `event` as text: the router decides how much to take before it reads any event.
  add column bytes            integer generated always as (octet_length(event::text)) stored,
  -- Set between two rounds of a large event: webhooks up to this id, in order, have their message.
  add column routed_to        uuid,
  -- Set for an event that cannot be routed. The router passes it by, and the operator is told.
  add column set_aside_at     timestamptz,
  add column set_aside_reason text;

-- A queue is what waits of one organization and topic; events of a queue are routed in order of id.
create index webhook_outbox_queue on webhook_outbox (org_id, topic, id) where set_aside_at is null;
create index webhook_outbox_set_aside on webhook_outbox (set_aside_at) where set_aside_at is not null;
