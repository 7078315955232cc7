-- The id of the call that carries a command to its device. Devices answer an upgrade minutes later, on whichever
-- connection they have then, and name a file after the id: it is unique over sessions and restarts, and an integer
-- that every client takes. Ids below 1024 are those of calls that no command stands for.
create sequence device_call_id as integer minvalue 1024 maxvalue 2147483647 cycle;

alter table device_command add column call_id integer;
create index device_command_by_call on device_command (device_id, call_id)
  where call_id is not null and state in ('sent', 'unknown');

-- Service time at which boot_count and booted_at were last known to hold: by an uptime, a new version, or the first
-- connection. A device whose uptime is shorter than the time since then has booted.
alter table device_status add column boot_known_ms double precision;
