-- Switches can return to their backup firmware and take recovery snapshots.
alter table device_command
  drop constraint device_command_kind_check,
  add constraint device_command_kind_check check (
    kind in ('restart', 'upgrade', 'stage', 'activate', 'locate', 'unlocate', 'ping', 'support', 'restore_backup',
      'snapshot'));

-- A command that takes several calls reports its steps: {step, member?}. Each report renews the wait; progress_ms is its
-- service time.
alter table device_command add column progress jsonb, add column progress_ms double precision;

-- A device that keeps several images is told which one to activate.
update device_command command
  set params = jsonb_build_object('image_id', target.image_id, 'version', target.target_version)
  from upgrade_target target
  where command.kind = 'activate' and command.state in ('queued', 'sent') and command.params = '{}'
    and target.org_id = command.org_id and target.upgrade_id = command.site_upgrade_id
    and target.device_id = command.device_id;
