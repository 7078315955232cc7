-- Webhooks, the messages that wait for them, and the record of what was delivered.

create table webhook (
  org_id      uuid not null references org (id),
  id          uuid not null unique,
  -- Null for an organization's webhook.
  site_id     uuid,
  enabled     boolean not null,
  topics      text[] not null,
  -- Wire shape without secrets: only what the client set.
  doc         jsonb not null,
  -- AES-256-GCM of {secret?, splunk_token?, oauth2_client_secret?, oauth2_password?}; AAD = id.
  secrets     bytea,
  created_at  timestamptz not null,
  modified_at timestamptz not null,
  primary key (org_id, id),
  foreign key (org_id, site_id) references site (org_id, id)
);
create index webhook_by_site on webhook (org_id, site_id, id);

-- One row = one POST. `body` is what is signed and sent, byte for byte, on every attempt.
create table webhook_message (
  org_id      uuid not null,
  id          uuid not null,
  webhook_id  uuid not null,
  topic       text not null,
  body        bytea not null,
  event_count integer not null,
  attempt     integer not null default 0,
  due_at      timestamptz not null,
  created_at  timestamptz not null,
  primary key (org_id, id),
  foreign key (org_id, webhook_id) references webhook (org_id, id) on delete cascade
);
create index webhook_message_due on webhook_message (org_id, webhook_id, due_at, id);
-- Pings go out although the webhook is disabled or its breaker open.
create index webhook_message_ping on webhook_message (org_id, webhook_id, due_at) where topic = 'ping';

-- One schedulable row a webhook: workers claim lanes, not messages. Whoever adds, changes or removes
-- messages locks the lane first; several lanes are locked in the order of the key. A webhook is
-- locked before its lane.
create table webhook_lane (
  org_id      uuid not null,
  webhook_id  uuid not null,
  pending     integer not null default 0,
  -- When the earliest message is due; null = nothing to do.
  next_at     timestamptz,
  lease_until timestamptz,
  epoch       bigint not null default 0,
  -- Slot-seconds used, for fairness between organizations.
  vtime       double precision not null default 0,
  -- Consecutive failures, and until when the breaker is open.
  failures    integer not null default 0,
  open_until  timestamptz,
  primary key (org_id, webhook_id),
  foreign key (org_id, webhook_id) references webhook (org_id, id) on delete cascade
) with (fillfactor = 50);

create table webhook_delivery (
  org_id      uuid not null,
  id          uuid not null,
  webhook_id  uuid not null,
  message_id  uuid not null,
  site_id     uuid,
  topic       text not null,
  attempt     integer not null,
  status      text not null check (status in ('success', 'failure')),
  status_code integer,
  error       text,
  req_url     text not null,
  created_at  timestamptz not null,
  primary key (org_id, created_at, id)
) partition by range (created_at);
create index webhook_delivery_by_webhook on webhook_delivery (org_id, webhook_id, created_at desc, id desc);

create table webhook_body (
  org_id       uuid not null,
  delivery_id  uuid not null,
  req_headers  text not null,
  req_payload  text not null,
  resp_headers text,
  resp_body    text,
  created_at   timestamptz not null,
  primary key (org_id, created_at, delivery_id)
) partition by range (created_at);

-- Catches rows of a day whose partition is not there yet; the daily chore keeps it empty.
create table webhook_delivery_default partition of webhook_delivery default;
create table webhook_body_default partition of webhook_body default;
