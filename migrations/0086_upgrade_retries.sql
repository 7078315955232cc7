-- A retry begins a new run of a failed target. The target's row is about the latest run; the runs before it are here.
alter table upgrade_target add column run integer not null default 1;

create table upgrade_target_run (
  org_id       uuid not null,
  upgrade_id   uuid not null,
  device_id    uuid not null,
  run          integer not null,
  -- How the run ended. Runs that did not fail are not retried.
  reason       text,
  from_version text,
  -- The number of its last command, as upgrade_target.attempt.
  attempt      integer not null,
  ended_at     timestamptz not null,
  retried_at   timestamptz not null,
  -- The name of the person who retried it.
  retried_by   text not null,
  primary key (org_id, upgrade_id, device_id, run),
  foreign key (org_id, upgrade_id, device_id) references upgrade_target (org_id, upgrade_id, device_id)
    on delete cascade
);
