-- The only webhook that gets the event, if there is one, as found when the event was committed. The event may be sent to it
-- before it is routed, as a message with the id of the event.
alter table webhook_outbox add column webhook_id uuid;

-- The webhooks that receive events. Whoever appends an event reads it, as it reads event_subscription.
create view event_subscriber as
  select org_id, id as webhook_id, site_id, topics from webhook where enabled;
