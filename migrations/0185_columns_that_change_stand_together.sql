-- Less to write for each report and connection. See docs/decisions/0137-fewer-bytes-and-look-ups-per-step.md.

-- An update on the page of its row writes what is between the first and the last byte that differ. What a report or a
-- connection changes stands together; what a device hardly ever changes comes after it.
drop trigger device_status_changed on device_status;
drop index device_status_of_chassis;
alter table device_status rename column ext_ip to former_ext_ip;
alter table device_status rename column capabilities to former_capabilities;
alter table device_status rename column members to former_members;
alter table device_status rename column boot_id to former_boot_id;
alter table device_status
  add column boot_id text,
  add column ext_ip text,
  add column members jsonb,
  add column capabilities jsonb default '{"commands": [], "restart_nodes": [], "restart_members": []}';
-- The copies for searches do not change.
alter table device_status disable trigger user;
update device_status set boot_id = former_boot_id, ext_ip = former_ext_ip, members = former_members,
  capabilities = former_capabilities;
alter table device_status enable trigger user;
alter table device_status
  drop column former_boot_id,
  drop column former_ext_ip,
  drop column former_members,
  drop column former_capabilities,
  alter column capabilities set not null;
create index device_status_of_chassis on device_status (org_id, device_id) where jsonb_array_length(members) > 1;
create trigger device_status_changed after update on device_status for each row
  when (old.ext_ip is distinct from new.ext_ip or old.load ->> 'ip' is distinct from new.load ->> 'ip')
  execute function keep_device_fact();

-- Each change of a connection is in an index, but a version on the same page writes only what differs.
-- Pages that are full already keep their rows until these move.
alter table device_connection set (fillfactor = 50);
-- With it, the key seems to cost the same as device_connection_by_status in a table that has not been analyzed yet, and of
-- such indexes PostgreSQL takes the newer one.
alter table device_connection drop constraint device_connection_pkey, add primary key (org_id, device_id);
