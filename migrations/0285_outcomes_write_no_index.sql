-- The outcome of a command of an upgrade is in no index, so that its row stays where it is. See
-- docs/decisions/0265-outcomes-write-no-index.md.

-- An update writes all indexes of a table if it changes a column that one of them names, in a condition too. So the indexes
-- name columns that are null of a command that an upgrade has sent, before and after its outcome.
alter table device_command
  add column pending text generated always as (
    case when state = 'queued' or state = 'sent' and site_upgrade_id is null then state end) stored,
  add column unsettled boolean generated always as (
    case when kind = 'restore_backup' and state in ('done', 'unknown') and settled_at is null then true end) stored;

drop index device_command_queued;
create index device_command_queued on device_command (device_id, id) where pending = 'queued';
drop index device_command_in_flight;
create index device_command_in_flight on device_command (device_id) where pending = 'sent';
drop index device_command_unsettled_restore;
create index device_command_unsettled_restore on device_command (device_id) where unsettled;

-- Old commands are found by their ids, which begin with the time.
drop index device_command_ended;

-- Two versions of nearly every row, instead of three.
alter table device_command set (fillfactor = 40);
