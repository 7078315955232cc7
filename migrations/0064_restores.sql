-- A restore of the backup version has worked once its device has booted and runs that version; until then, or until the
-- wait for it is over, the command is unsettled.
alter table device_command add column settled_at timestamptz;
update device_command set settled_at = finished_at where kind = 'restore_backup' and state in ('done', 'unknown');
create index device_command_unsettled_restore on device_command (device_id)
  where kind = 'restore_backup' and state in ('done', 'unknown') and settled_at is null;
