-- What has happened to a target, and for how long it was down. Both are written with the transitions themselves, in the
-- same row version.
alter table upgrade_target
  -- One line for each transition: see src/rollout/timeline.ts.
  add column timeline text not null default '',
  -- The connection that the upgrade's reboot ended, and the one that followed; null: the device did not reboot, or did
  -- not come back.
  add column down_at timestamptz,
  add column up_at timestamptz;

alter table upgrade_target_run
  add column down_at timestamptz,
  add column up_at timestamptz;
