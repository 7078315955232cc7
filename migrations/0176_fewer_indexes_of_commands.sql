-- Each of the three versions of a command was written into seven indexes. See docs/decisions/0127-commands-by-device.md.

-- The key of an upgrade's commands also finds those of a device, which are few. Those of people have no site upgrade, so
-- they are never equal.
drop index device_command_once;
drop index device_command_of_device;
create unique index device_command_of_device on device_command (device_id, site_upgrade_id, kind, attempt);
-- Finds commands that a late answer concerns, which are rare.
drop index device_command_by_call;
-- Of two indexes that seem to cost the same, PostgreSQL takes the newer one: those of the few commands that have not ended.
drop index device_command_queued;
create index device_command_queued on device_command (device_id, id) where state = 'queued';
drop index device_command_in_flight;
create index device_command_in_flight on device_command (device_id) where state = 'sent';

-- An update that finds no room on the page of its row first writes that it has locked it, and then the whole row.
alter table device_command set (fillfactor = 35);
alter table device_version set (fillfactor = 60);
