-- Upgrades of edge appliances. Appliances are no devices, so their targets have rows of their own.

create table mxedge_upgrade (
  org_id            uuid not null references org (id) on delete cascade,
  id                uuid not null,
  -- Null for an upgrade of the organization. An upgrade of a site covers the appliances there.
  site_id           uuid,
  request           jsonb not null,
  plan              jsonb not null,
  status            text not null check (status in ('queued', 'upgrading', 'completed', 'failed', 'cancelled')),
  stopping          text check (stopping in ('failed', 'cancelled')),
  stop_reason       text,
  hold              jsonb,
  current_phase     integer not null default 1,
  -- The gate after this phase is not evaluated again.
  gate_passed       integer not null default 0,
  -- Service time.
  phase_opened_ms   double precision,
  counts            jsonb not null,
  hard_failures     jsonb not null default '{}',
  upgraded_by_phase jsonb not null default '{}',
  notes             jsonb not null,
  start_at          timestamptz not null,
  created_at        timestamptz not null,
  finished_at       timestamptz,
  primary key (org_id, id),
  foreign key (org_id, site_id) references site (org_id, id) on delete cascade
);
create index mxedge_upgrade_by_site on mxedge_upgrade (org_id, site_id, id);
create index mxedge_upgrade_running on mxedge_upgrade (org_id, id) where finished_at is null;
create index mxedge_upgrade_ended on mxedge_upgrade (org_id, finished_at) where finished_at is not null;

create table mxedge_upgrade_target (
  org_id             uuid not null,
  upgrade_id         uuid not null,
  -- The row outlives the appliance.
  mxedge_id          uuid not null,
  name               text not null,
  phase              integer not null,
  -- Members of a cluster are in different waves of their phase. One wave follows the other.
  wave               integer not null,
  ordinal            integer not null,
  -- That of the appliance when the upgrade was planned: another appliance may have registered since.
  registration_epoch integer not null,
  steps              jsonb not null,
  -- The place of the present step among them, from 0.
  step               integer not null default 0,
  state              text not null check (state in ('planned', 'deferred', 'commanded', 'unconfirmed', 'verifying',
    'upgraded', 'failed', 'skipped', 'cancelled')),
  reason             text,
  -- Numbers the commands to the appliance over all steps.
  attempt            integer not null default 0,
  command_id         uuid,
  failed_attempts    integer not null default 0,
  lost_attempts      integer not null default 0,
  -- Service time, as retry_at_ms.
  entered_ms         double precision not null,
  retry_at_ms        double precision,
  primary key (org_id, upgrade_id, mxedge_id),
  foreign key (org_id, upgrade_id) references mxedge_upgrade (org_id, id) on delete cascade
);
-- An appliance is in at most one active upgrade.
create unique index mxedge_upgrade_target_active on mxedge_upgrade_target (mxedge_id)
  where state not in ('upgraded', 'failed', 'skipped', 'cancelled');
create index mxedge_upgrade_target_in_order on mxedge_upgrade_target (org_id, upgrade_id, ordinal);
