-- The versions of devices apart from their addresses: an upgrade changes the version alone, but wrote the addresses into
-- each of their indexes again. See docs/decisions/0078-what-an-upgrade-writes.md.

create table device_version (
  org_id    uuid not null,
  device_id uuid not null,
  -- The device's type, which never changes.
  type      text not null,
  firmware  text,
  primary key (org_id, device_id),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
);

insert into device_version (org_id, device_id, type, firmware)
select org_id, device_id, type, firmware from device_fact where firmware is not null;

create index device_version_by_firmware on device_version (org_id, firmware text_pattern_ops, device_id) include (type);

drop trigger device_fact_added on device_fact;
drop trigger device_fact_changed on device_fact;
drop trigger device_fact_removed on device_fact;
alter function count_device_fact() rename to count_device_version;
create trigger device_version_added after insert on device_version for each row
  when (new.firmware is not null) execute function count_device_version();
create trigger device_version_changed after update on device_version for each row
  when (old.firmware is distinct from new.firmware) execute function count_device_version();
create trigger device_version_removed after delete on device_version for each row
  when (old.firmware is not null) execute function count_device_version();

-- Parts of versions are looked for in the few versions that the counters know.
drop index device_fact_by_part;
drop index device_fact_by_firmware;
drop trigger device_status_changed on device_status;
alter table device_fact drop column firmware;
create index device_fact_by_part on device_fact using gin (org_id, ip gin_trgm_ops, ext_ip gin_trgm_ops)
  with (fastupdate = off);

create or replace function keep_device_fact() returns trigger language plpgsql as $$
begin
  insert into device_fact as known (org_id, device_id, type, ip, ext_ip)
  select new.org_id, new.device_id, device.type, left(new.load ->> 'ip', 200), new.ext_ip
  from device where device.org_id = new.org_id and device.id = new.device_id
  on conflict (org_id, device_id) do update set ip = excluded.ip, ext_ip = excluded.ext_ip;
  return null;
end $$;
create trigger device_status_changed after update on device_status for each row
  when (old.ext_ip is distinct from new.ext_ip or old.load ->> 'ip' is distinct from new.load ->> 'ip')
  execute function keep_device_fact();

create function keep_device_version() returns trigger language plpgsql as $$
begin
  insert into device_version as known (org_id, device_id, type, firmware)
  select new.org_id, new.device_id, device.type, new.firmware
  from device where device.org_id = new.org_id and device.id = new.device_id
  on conflict (org_id, device_id) do update set firmware = excluded.firmware;
  return null;
end $$;
create trigger device_status_version_added after insert on device_status for each row
  when (new.firmware is not null) execute function keep_device_version();
create trigger device_status_version_changed after update on device_status for each row
  when (old.firmware is distinct from new.firmware) execute function keep_device_version();
