-- Less to write for each connection. See docs/decisions/0365-disconnected-devices-have-a-table.md.

-- The devices that are not connected, among them those that never were. A device that connects or disconnects deletes or inserts
-- its row; nothing else is written for searches by connection. The rows have no foreign key, because each disconnect would have to
-- lock the device: the trigger below deletes them with their devices.
create table device_disconnection (
  org_id          uuid not null,
  device_id       uuid not null,
  -- Null before the first connection.
  disconnected_at timestamptz,
  -- The device's type, which never changes.
  type            text not null
);
insert into device_disconnection (org_id, device_id, disconnected_at, type)
select org_id, device_id, disconnected_at, type from device_connection where status = 'disconnected';
alter table device_disconnection add primary key (org_id, device_id);

-- The time of the boot stands beside the version, because an upgrade changes both at once.
alter table device_version rename to former_device_version;
create table device_version (
  org_id    uuid not null,
  device_id uuid not null,
  -- When it booted last, also while it is not connected.
  booted_at timestamptz,
  firmware  text,
  -- The device's type, which never changes.
  type      text not null
) with (fillfactor = 60);
insert into device_version (org_id, device_id, booted_at, firmware, type)
select former.org_id, former.device_id, status.booted_at, former.firmware, former.type
from former_device_version former
left join device_status status on status.org_id = former.org_id and status.device_id = former.device_id;
drop table former_device_version;
create index device_version_by_firmware on device_version (org_id, firmware text_pattern_ops, device_id) include (type);
create index device_version_by_boot on device_version (org_id, booted_at, device_id) include (type)
  where booted_at is not null;
-- The key is the newest index: see migration 156.
alter table device_version
  add primary key (org_id, device_id),
  add foreign key (org_id, device_id) references device (org_id, id) on delete cascade;
create trigger device_version_added after insert on device_version
  referencing new table as added for each statement execute function count_device_versions();
create trigger device_version_changed after update on device_version
  referencing old table as removed new table as added for each statement execute function count_device_versions();
create trigger device_version_removed after delete on device_version
  referencing old table as removed for each statement execute function count_device_versions();

drop trigger device_added_to_connections on device;
drop function add_device_connections();
drop table device_connection;
drop function count_device_connections();

create function add_device_disconnections() returns trigger language plpgsql as $$
begin
  insert into device_disconnection (org_id, device_id, type) select org_id, id, type from added;
  insert into device_value_delta (org_id, field, type, value, count)
  select org_id, 'status', type, 'disconnected', count(*) from added group by org_id, type;
  return null;
end $$;
create trigger device_added_to_disconnections after insert on device
  referencing new table as added for each statement execute function add_device_disconnections();

-- It comes after the deletion of the statuses, which waits for a connection that is being recorded.
create function remove_device_disconnections() returns trigger language plpgsql
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
begin
  with gone as (
    delete from device_disconnection where ctid = any(array(
      select known.ctid from removed
      cross join lateral (
        select ctid from device_disconnection where org_id = removed.org_id and device_id = removed.id limit 1) known))
    returning org_id, type
  )
  insert into device_value_delta (org_id, field, type, value, count)
  select org_id, 'status', type, value, sum(n) from (
    select org_id, type, 'disconnected' as value, -1 as n from gone
    union all select org_id, type, 'connected', 1 from gone
    union all select org_id, type, 'connected', -1 from removed
  ) as change group by 1, 3, 4 having sum(n) <> 0;
  return null;
end $$;
create trigger device_removed_from_disconnections after delete on device
  referencing old table as removed for each statement execute function remove_device_disconnections();

create or replace function add_device_version() returns trigger language plpgsql as $$
begin
  insert into device_version (org_id, device_id, booted_at, firmware, type)
  select added.org_id, added.device_id, added.booted_at, added.firmware, device.type
  from added
  cross join lateral (select type from device where org_id = added.org_id and id = added.device_id limit 1) device
  on conflict (org_id, device_id) do update set booted_at = excluded.booted_at, firmware = excluded.firmware;
  return null;
end $$;

-- No other transaction changes the copies of a status that this one has locked. Disconnections are looked up one by one by their key,
-- because a subquery with a limit can be joined in no other way, and are then named by their places: nearly always there are few, and
-- PostgreSQL may keep a plan that would read all of them for each device after many have disconnected.
create or replace function keep_device_copies() returns trigger language plpgsql
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
begin
  with up as (
    delete from device_disconnection where ctid = any(array(
      select known.ctid from written
      cross join lateral (
        select ctid from device_disconnection where org_id = written.org_id and device_id = written.device_id limit 1) known
      where written.connected))
    returning org_id, type
  ), down as (
    insert into device_disconnection (org_id, device_id, disconnected_at, type)
    select written.org_id, written.device_id, written.disconnected_at, version.type
    from written
    left join lateral (
      select true as is_down from device_disconnection
      where org_id = written.org_id and device_id = written.device_id limit 1) known on true
    cross join lateral (
      select type from device_version where org_id = written.org_id and device_id = written.device_id limit 1) version
    where not written.connected and known.is_down is null
    returning org_id, type
  ), corrected as (
    update device_disconnection known set disconnected_at = (
      select disconnected_at from device_status status
      where status.org_id = known.org_id and status.device_id = known.device_id)
    where ctid = any(array(
      select known.ctid from written
      cross join lateral (
        select ctid, disconnected_at from device_disconnection
        where org_id = written.org_id and device_id = written.device_id limit 1) known
      where not written.connected and known.disconnected_at is distinct from written.disconnected_at))
  )
  insert into device_value_delta (org_id, field, type, value, count)
  select org_id, 'status', type, value, sum(n) from (
    select org_id, type, 'connected' as value, 1 as n from up
    union all select org_id, type, 'disconnected', -1 from up
    union all select org_id, type, 'connected', -1 from down
    union all select org_id, type, 'disconnected', 1 from down
  ) as change group by 1, 3, 4 having sum(n) <> 0;
  update device_version known set booted_at = changed.booted_at, firmware = changed.firmware
  from (
    select kept.org_id, kept.device_id, kept.booted_at, kept.firmware from written kept
    cross join lateral (
      select booted_at, firmware from device_version where org_id = kept.org_id and device_id = kept.device_id limit 1) copy
    where copy.firmware is distinct from kept.firmware or copy.booted_at is distinct from kept.booted_at
    offset 0
  ) as changed
  where known.org_id = changed.org_id and known.device_id = changed.device_id;
  return null;
end $$;
