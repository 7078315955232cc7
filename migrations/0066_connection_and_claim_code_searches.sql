-- Searches for devices by whether they are connected, and by claim codes. See docs/decisions/0048-counting-before-reading.md.

-- Whether devices are connected, apart from device_status: that changes with every report, so that counting in an index
-- of it would read its rows too. Each device has a row.
create table device_connection (
  org_id          uuid not null,
  device_id       uuid not null,
  -- The device's type, which never changes.
  type            text not null,
  status          text not null check (status in ('connected', 'disconnected')),
  -- Null while it is connected, and before its first connection.
  disconnected_at timestamptz,
  primary key (org_id, device_id),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
);

insert into device_connection (org_id, device_id, type, status, disconnected_at)
select device.org_id, device.id, device.type, case when status.connected then 'connected' else 'disconnected' end,
  case when not status.connected then status.disconnected_at end
from device left join device_status status on status.org_id = device.org_id and status.device_id = device.id;

create index device_connection_by_status on device_connection (org_id, status, type);
create index device_connection_by_time on device_connection (org_id, disconnected_at, type)
  where disconnected_at is not null;

create function add_device_connections() returns trigger language plpgsql as $$
begin
  insert into device_connection (org_id, device_id, type, status)
  select org_id, id, type, 'disconnected' from added;
  return null;
end $$;

create trigger device_added_to_connections after insert on device
  referencing new table as added for each statement execute function add_device_connections();

create function keep_device_connection() returns trigger language plpgsql as $$
begin
  update device_connection set status = case when new.connected then 'connected' else 'disconnected' end,
    disconnected_at = case when not new.connected then new.disconnected_at end
  where org_id = new.org_id and device_id = new.device_id;
  return null;
end $$;

create trigger device_status_connection_added after insert on device_status for each row
  when (new.connected or new.disconnected_at is not null) execute function keep_device_connection();
create trigger device_status_connection_changed after update on device_status for each row
  when (old.connected is distinct from new.connected or old.disconnected_at is distinct from new.disconnected_at)
  execute function keep_device_connection();

-- Also serves equality. Codes are searched by their beginning.
create index device_by_claim_code on device (org_id, claim_code text_pattern_ops, type);
