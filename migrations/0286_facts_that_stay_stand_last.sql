-- Less to write for each connection. See docs/decisions/0266-facts-that-stay-stand-last.md.

-- An update on the page of its row writes what is between the first and the last byte that differ. What differs between the
-- connections of a device stands together; the rest of its facts comes after it.
alter table device_session rename column facts to former_facts;
alter table device_session
  add column firmware text,
  add column reason text,
  add column boot_id text,
  add column facts jsonb;
update device_session set firmware = coalesce(former_facts ->> 'firmware', ''), reason = former_facts ->> 'reason',
  boot_id = former_facts ->> 'boot_id', facts = former_facts - array['firmware', 'reason', 'boot_id'];
alter table device_session
  drop column former_facts,
  alter column firmware set not null,
  alter column facts set not null;

-- The same for statuses: the service time of the connection came after the capabilities.
drop index device_status_of_chassis;
alter table device_status rename column members to former_members;
alter table device_status rename column capabilities to former_capabilities;
alter table device_status
  add column members jsonb,
  add column capabilities jsonb default '{"commands": [], "restart_nodes": [], "restart_members": []}';
-- The copies for searches do not change.
alter table device_status disable trigger user;
update device_status set members = former_members, capabilities = former_capabilities;
alter table device_status enable trigger user;
alter table device_status
  drop column former_members,
  drop column former_capabilities,
  alter column capabilities set not null;
create index device_status_of_chassis on device_status (org_id, device_id) where jsonb_array_length(members) > 1;
