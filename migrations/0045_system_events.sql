-- What the service itself has to say to an organization: about its storage, its webhooks, its certificates.
create table system_event (
  org_id     uuid not null references org (id) on delete cascade,
  id         uuid not null,
  -- Of the site that it concerns; null: it concerns the organization.
  site_id    uuid,
  type       text not null,
  -- Of two events with the same type and key, only the first is stored.
  once       text,
  text       text not null,
  -- {mac, device_type, apfw, count}, as far as they apply.
  details    jsonb not null,
  created_at timestamptz not null,
  primary key (org_id, id)
);
create index system_event_by_time on system_event (org_id, created_at desc, id desc);
create unique index system_event_once on system_event (org_id, type, once) where once is not null;

-- Conditions that last, and whose begin was told. Their end deletes the row, and is told too.
create table system_condition (
  org_id     uuid not null references org (id) on delete cascade,
  type       text not null,
  -- Of what it is true, such as the id of a webhook.
  subject    text not null,
  site_id    uuid,
  -- The text of the event that tells its end.
  ended_text text not null,
  since      timestamptz not null,
  primary key (org_id, type, subject)
);
