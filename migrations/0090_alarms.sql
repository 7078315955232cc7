-- What needs a person's attention. See docs/decisions/0062-alarms.md.
create table alarm (
  org_id        uuid not null references org (id) on delete cascade,
  id            uuid not null,
  -- The site that it concerns; null: it concerns the organization.
  site_id       uuid,
  type          text not null,
  -- What it is about, such as the id of a device or a webhook.
  subject       text not null,
  text          text not null,
  -- What it is about, in the fields of the wire: {aps, switches, gateways, hostnames, upgrade_id, webhook_id}.
  details       jsonb not null,
  -- True: it ends by itself, when its cause does. False: it ends when somebody acknowledges it.
  lasts         boolean not null,
  -- How often it has begun.
  count         integer not null default 1,
  created_at    timestamptz not null,
  last_seen_at  timestamptz not null,
  ended_at      timestamptz,
  -- True: if its cause comes back, it is counted here and makes no other alarm.
  counting      boolean not null default true,
  acked_at      timestamptz,
  acked_by      uuid,
  acked_by_name text,
  note          text,
  primary key (org_id, id)
);
create index alarm_by_time on alarm (org_id, created_at desc, id desc);
create index alarm_by_subject on alarm (org_id, type, subject);
create unique index alarm_counting on alarm (org_id, type, subject) where counting;
create index alarm_open on alarm (type, org_id) where ended_at is null;

-- What the watch of upgrades looks for.
create index site_upgrade_failed on site_upgrade (finished_at) where status = 'failed';
create index site_upgrade_held on site_upgrade (org_id) where hold is not null;
create index org_upgrade_held on org_upgrade (org_id) where hold is not null;
