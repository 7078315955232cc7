-- Upgrades: one org upgrade holds one site upgrade a site; each has its targets.

create table org_upgrade (
  org_id         uuid not null references org (id),
  id             uuid not null,
  -- The request as it was understood, for the record.
  request        jsonb not null,
  strategy       text not null,
  target_version text not null,
  force          boolean not null,
  enable_p2p     boolean not null,
  -- Percent of hard failures over all sites that stops everything; null = no such limit.
  max_failure_percentage integer,
  -- What that percentage is of: all targets less those that were skipped when planning.
  planned        integer not null,
  hard_failures  integer not null default 0,
  admin_id       uuid,
  created_at     timestamptz not null,
  primary key (org_id, id)
);

create table site_upgrade (
  org_id         uuid not null,
  id             uuid not null,
  org_upgrade_id uuid not null,
  site_id        uuid not null,
  status         text not null check (status in
                 ('created', 'queued', 'downloading', 'downloaded', 'upgrading', 'completed', 'failed', 'cancelled')),
  -- While in-flight targets drain: what the job becomes after. Null = not stopping.
  stopping       text check (stopping in ('failed', 'cancelled')),
  stop_reason    text,
  start_at       timestamptz not null,
  reboot_at      timestamptz not null,
  -- Strategy, number of phases and limits as planned: UpgradePlan of platform/schema/rollout.ts.
  plan           jsonb not null,
  current_phase  integer not null default 1,
  phase_opened_at timestamptz,
  -- Phase -> hard failures in it. Offline and cancelled targets are no hard failures.
  hard_failures  jsonb not null default '{}',
  -- Target state -> how many.
  counts         jsonb not null,
  total          integer not null,
  -- [{mac, reason}] of devices that were left out, and warnings.
  notes          jsonb not null default '[]',
  created_at     timestamptz not null,
  finished_at    timestamptz,
  -- Worker claim: due time, lease and fencing epoch.
  due_at         timestamptz,
  lease_until    timestamptz,
  epoch          bigint not null default 0,
  primary key (org_id, id),
  foreign key (org_id, org_upgrade_id) references org_upgrade (org_id, id)
) with (fillfactor = 60);
create index site_upgrade_by_org_upgrade on site_upgrade (org_id, org_upgrade_id, id);
create index site_upgrade_open on site_upgrade (org_id, id) where finished_at is null;

create table upgrade_target (
  org_id         uuid not null,
  upgrade_id     uuid not null,
  device_id      uuid not null,
  mac            text not null,
  model          text not null,
  -- From 1; 0 = skipped when planning.
  phase          integer not null,
  -- Place in the plan's order, from 1; 0 = skipped when planning.
  ordinal        integer not null,
  image_id       uuid not null,
  from_version   text,
  target_version text not null,
  -- Upgrade even a device that runs the target version.
  force          boolean not null,
  -- A TargetState of rollout/rollout.ts.
  state          text not null,
  -- Number of the latest command, and its id; 0 and null = none yet.
  attempt        integer not null default 0,
  command_id     uuid,
  -- Attempts that failed by the device's doing; those that an absent device missed don't count.
  failed_attempts integer not null default 0,
  -- Boot count of the device when the upgrade was commanded.
  boot_count     integer,
  entered_at     timestamptz not null,
  reason         text,
  primary key (org_id, upgrade_id, device_id),
  foreign key (org_id, upgrade_id) references site_upgrade (org_id, id)
) with (fillfactor = 60);
-- On columns that never change, so that updates stay HOT.
create index upgrade_target_by_phase on upgrade_target (org_id, upgrade_id, phase);

-- No device in two active upgrades: the row exists while its target is not terminal.
create table active_upgrade_target (
  org_id     uuid not null,
  device_id  uuid not null,
  upgrade_id uuid not null,
  primary key (org_id, device_id)
);
