-- What searches need of the status of devices, apart from device_status: that changes with every report, so counting in
-- an index of it would read the rows too. See docs/decisions/0033-search-filters.md.

create table device_fact (
  org_id    uuid not null,
  device_id uuid not null,
  -- The device's type, which never changes.
  type      text not null,
  firmware  text,
  ip        text,
  ext_ip    text,
  primary key (org_id, device_id),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
);

insert into device_fact (org_id, device_id, type, firmware, ip, ext_ip)
select status.org_id, status.device_id, device.type, status.firmware, left(status.load ->> 'ip', 200), status.ext_ip
from device_status status join device on device.org_id = status.org_id and device.id = status.device_id;

create index device_fact_by_firmware on device_fact (org_id, firmware text_pattern_ops) include (type, device_id);
create index device_fact_by_ip on device_fact (org_id, ip text_pattern_ops) include (type, device_id);
create index device_fact_by_ext_ip on device_fact (org_id, ext_ip text_pattern_ops) include (type, device_id);
create index device_fact_by_part on device_fact using gin
  (org_id, firmware gin_trgm_ops, ip gin_trgm_ops, ext_ip gin_trgm_ops) with (fastupdate = off);

create function keep_device_fact() returns trigger language plpgsql as $$
begin
  insert into device_fact as known (org_id, device_id, type, firmware, ip, ext_ip)
  select new.org_id, new.device_id, device.type, new.firmware, left(new.load ->> 'ip', 200), new.ext_ip
  from device where device.org_id = new.org_id and device.id = new.device_id
  on conflict (org_id, device_id) do update
    set firmware = excluded.firmware, ip = excluded.ip, ext_ip = excluded.ext_ip;
  return null;
end $$;

create trigger device_status_added after insert on device_status
  for each row execute function keep_device_fact();
-- Reports arrive every minute, and hardly ever with another of these values.
create trigger device_status_changed after update on device_status for each row
  when (old.firmware is distinct from new.firmware or old.ext_ip is distinct from new.ext_ip
    or old.load ->> 'ip' is distinct from new.load ->> 'ip')
  execute function keep_device_fact();
