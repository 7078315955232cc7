-- The connection that carried the last report of a device: after a reboot, only a report over the present one is evidence. Null:
-- recorded before this migration; the next report of the device writes it. See
-- docs/decisions/0521-reports-name-their-connection.md.
alter table device_report add column epoch bigint;
