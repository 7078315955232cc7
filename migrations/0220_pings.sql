-- Pings that wait to be sent. They have slots of their own, so they are no messages of the lane of their webhook.
create table webhook_ping (
  org_id     uuid        not null,
  id         uuid        not null,
  webhook_id uuid        not null,
  body       bytea       not null,
  created_at timestamptz not null,
  primary key (org_id, webhook_id, id),
  foreign key (org_id, webhook_id) references webhook (org_id, id) on delete cascade
);

-- Receivers that fetch their messages also fetch pings.
with moved as (
  delete from webhook_message m using webhook_lane l
  where m.topic = 'ping' and l.org_id = m.org_id and l.webhook_id = m.webhook_id and not l.pulled
  returning m.org_id, m.id, m.webhook_id, m.body, m.created_at
), inserted as (
  insert into webhook_ping select * from moved
)
update webhook_lane l set pending = l.pending - k.messages
from (select org_id, webhook_id, count(*) as messages from moved group by org_id, webhook_id) k
where l.org_id = k.org_id and l.webhook_id = k.webhook_id;
