-- Organizations, sites, the people and tokens that act in them, and the audit log.
-- Tenant tables start their primary key and their indexes with org_id, so that
-- the database can be distributed by organization.

create table org (
  id          uuid primary key,
  name        text not null,
  -- Everything the client set, in wire shape: unknown keys are kept and echoed.
  doc         jsonb not null default '{}',
  created_at  timestamptz not null,
  modified_at timestamptz not null
);

create table site (
  org_id      uuid not null references org (id),
  id          uuid not null unique,
  name        text not null,
  timezone    text not null,
  doc         jsonb not null default '{}',
  created_at  timestamptz not null,
  modified_at timestamptz not null,
  primary key (org_id, id)
);
create index site_by_name on site (org_id, name, id);

create table admin (
  id                   uuid primary key,
  -- Lower case; the address is the login name.
  email                text not null unique,
  -- argon2id in PHC format; null for accounts without a password.
  password_hash        text,
  first_name           text not null,
  last_name            text not null,
  created_at           timestamptz not null,
  password_modified_at timestamptz
);

create table privilege (
  org_id   uuid not null references org (id) on delete cascade,
  id       uuid not null,
  admin_id uuid not null references admin (id) on delete cascade,
  scope    text not null check (scope in ('org', 'site')),
  role     text not null check (role in ('admin', 'write', 'read', 'helpdesk', 'installer')),
  site_id  uuid,
  primary key (org_id, id),
  foreign key (org_id, site_id) references site (org_id, id) on delete cascade,
  check ((scope = 'site') = (site_id is not null))
);
create index privilege_by_admin on privilege (admin_id);

create table api_token (
  id         uuid primary key,
  admin_id   uuid not null references admin (id) on delete cascade,
  name       text not null,
  -- SHA-256 of the key: the key itself is shown once and never stored.
  key_hash   bytea not null unique,
  key_hint   text not null,
  created_at timestamptz not null
);

create table session (
  -- SHA-256 of the cookie's value.
  id_hash    bytea primary key,
  admin_id   uuid not null references admin (id) on delete cascade,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index session_by_expiry on session (expires_at);

create table audit_log (
  org_id     uuid not null,
  id         uuid not null,
  site_id    uuid,
  admin_id   uuid,
  admin_name text,
  message    text not null,
  src_ip     text,
  user_agent text,
  before     jsonb,
  after      jsonb,
  created_at timestamptz not null,
  primary key (org_id, id)
);
create index audit_log_by_time on audit_log (org_id, created_at desc, id desc);

-- Events that wait to be routed to webhooks. Rows are taken (deleted), never
-- followed by a sequence cursor: open transactions leave gaps in a sequence.
create table webhook_outbox (
  id         uuid primary key,
  org_id     uuid not null,
  site_id    uuid,
  topic      text not null,
  event      jsonb not null,
  created_at timestamptz not null
);
