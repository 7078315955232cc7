-- What the webhooks of an organization listen to. Whoever appends an event reads this view, because an event that no
-- webhook listens to needs no place in the outbox.
create view event_subscription as
  select org_id, topic, array_agg(distinct site_id) as site_ids
  from webhook cross join lateral unnest(topics) as topic
  where enabled
  group by org_id, topic;
