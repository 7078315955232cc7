-- What the service itself has to say to an organization: about its storage, its webhooks, its certificates.
create table system_event (
  org_id     uuid not null references org (id) on delete cascade,
  id         uuid not null,
  -- The site that it concerns; null: it concerns the organization.
  site_id    uuid,
  type       text not null,
  -- If several events have the same type and key, only the first is stored.
  once       text,
  text       text not null,
  -- {mac, device_type, apfw, webhook_id, count}, as far as they apply.
  details    jsonb not null,
  created_at timestamptz not null,
  primary key (org_id, id)
);
create index system_event_by_time on system_event (org_id, created_at desc, id desc);
create unique index system_event_once on system_event (org_id, type, once) where once is not null;

-- Conditions whose beginning has been reported. The transaction that reports their end deletes the row.
create table system_condition (
  org_id     uuid not null references org (id) on delete cascade,
  type       text not null,
  -- What is in this state, such as the id of a webhook.
  subject    text not null,
  site_id    uuid,
  -- The text of the event that reports its end.
  ended_text text not null,
  since      timestamptz not null,
  primary key (org_id, type, subject)
);
