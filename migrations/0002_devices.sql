-- Hardware, claimed devices, what they last reported, and the commands on their way to them.

-- Every device the service knows of, claimed or not: from a manifest, or because it connected.
-- A device's id is a function of its MAC (see devices/device.ts), the same before and after a claim.
create table device_registry (
  id            uuid primary key,
  mac           text not null unique,
  serial        text not null,
  model         text not null,
  type          text not null check (type in ('ap', 'switch', 'gateway')),
  claim_code    text not null unique,
  -- The organization that claimed it.
  org_id        uuid references org (id),
  firmware      text,
  created_at    timestamptz not null,
  last_seen_at  timestamptz
);
create index device_registry_by_serial on device_registry (serial);
-- People type claim codes with or without dashes, in any case.
create unique index device_registry_by_claim on device_registry (upper(replace(claim_code, '-', '')));
create index device_registry_unclaimed on device_registry (id) where org_id is null;

create table device (
  org_id      uuid not null references org (id),
  id          uuid not null unique references device_registry (id),
  site_id     uuid,
  mac         text not null,
  serial      text not null,
  model       text not null,
  type        text not null check (type in ('ap', 'switch', 'gateway')),
  name        text,
  claim_code  text not null,
  doc         jsonb not null default '{}',
  created_at  timestamptz not null,
  modified_at timestamptz not null,
  primary key (org_id, id),
  unique (org_id, mac),
  foreign key (org_id, site_id) references site (org_id, id)
);
create index device_by_site on device (org_id, site_id, id);

-- Hot: changes with every message. No index on changing columns, so that updates stay HOT.
create table device_status (
  org_id          uuid not null,
  device_id       uuid not null,
  connected       boolean not null default false,
  -- Epoch of the session that reported last; a message of an older one writes nothing.
  epoch           bigint not null default 0,
  connected_at    timestamptz,
  disconnected_at timestamptz,
  last_seen_at    timestamptz,
  firmware        text,
  -- Counts the boots we have evidence of; "unchanged" proves that it has not rebooted.
  boot_count      integer not null default 0,
  booted_at       timestamptz,
  ext_ip          text,
  capabilities    jsonb not null default '{}',
  -- Virtual Chassis members: [{member, mac, serial, model, firmware}].
  members         jsonb,
  -- What the device last said of its load: {cpu_percent?, memory_total?, memory_free?, ...}.
  load            jsonb,
  -- {progress, status, status_id, timestamp, will_retry}, the wire's `fwupdate`.
  fwupdate        jsonb,
  primary key (org_id, device_id),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
) with (fillfactor = 60);

-- A gateway process. Its lease stands for all its sessions.
create table gateway_node (
  id          uuid primary key,
  started_at  timestamptz not null,
  lease_until timestamptz not null
);

-- Compare-and-set: the newest connection of a device wins by a higher epoch.
create table device_session (
  device_id    uuid primary key references device_registry (id),
  node_id      uuid not null,
  epoch        bigint not null,
  connected    boolean not null,
  connected_at timestamptz not null,
  -- When its node was found dead or restarted; null again with the next connection. A device that
  -- comes back soon has not been away: it is called disconnected only some time after.
  lost_at      timestamptz,
  -- What the connect message said, kept so that a claim can take it over.
  facts        jsonb not null
) with (fillfactor = 60);
create index device_session_by_node on device_session (node_id) where connected;
create index device_session_lost on device_session (lost_at) where lost_at is not null;

create table device_command (
  org_id      uuid not null,
  id          uuid not null,
  device_id   uuid not null,
  -- The site upgrade it belongs to; null for a person's command.
  job_id      uuid,
  kind        text not null check (kind in ('restart', 'upgrade')),
  attempt     integer not null default 1,
  params      jsonb not null default '{}',
  -- queued -> sent -> done | rejected | unknown; queued -> expired | cancelled
  state       text not null default 'queued'
              check (state in ('queued', 'sent', 'done', 'rejected', 'unknown', 'expired', 'cancelled')),
  -- Session epoch it was sent under; a reply of another epoch is discarded.
  epoch       bigint,
  -- {code, text} of a refusal, {why} of an unknown outcome, {text} of a success.
  outcome     jsonb,
  created_at  timestamptz not null,
  expires_at  timestamptz not null,
  sent_at     timestamptz,
  finished_at timestamptz,
  primary key (org_id, id),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
) with (fillfactor = 60);
create unique index device_command_once on device_command (org_id, job_id, device_id, kind, attempt)
  where job_id is not null;
create index device_command_open on device_command (device_id, id) where state in ('queued', 'sent');
-- Small at all times, so that "nothing in flight for this device" is cheap under any plan.
create index device_command_in_flight on device_command (device_id) where state = 'sent';

-- What happened to devices, for people and for the `device-events` topic.
create table device_event (
  org_id     uuid not null,
  id         uuid not null,
  device_id  uuid not null,
  site_id    uuid,
  type       text not null,
  event      jsonb not null,
  created_at timestamptz not null,
  primary key (org_id, id)
);
create index device_event_by_time on device_event (org_id, created_at desc, id desc);
