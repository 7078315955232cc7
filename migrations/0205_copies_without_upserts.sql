-- Less to write for each connection. See docs/decisions/0160-copies-are-updated-by-their-keys.md.

-- It served the number of devices with a status, which counters have (migration 94). Nearly all devices have one of the two
-- values; device_connection_disconnected finds those with the other.
drop index device_connection_by_status;

-- Each status has its copies from the start, so that they are only updated: an upsert locks each row before it changes it.
insert into device_version (org_id, device_id, type, firmware)
select status.org_id, status.device_id, device.type, status.firmware
from device_status status
join device on device.org_id = status.org_id and device.id = status.device_id
on conflict (org_id, device_id) do nothing;

-- A status that is inserted has no version yet, unless an operator's script inserts it.
create function add_device_version() returns trigger language plpgsql as $$
begin
  insert into device_version (org_id, device_id, type, firmware)
  select added.org_id, added.device_id, device.type, added.firmware
  from added
  cross join lateral (select type from device where org_id = added.org_id and id = added.device_id limit 1) device
  on conflict (org_id, device_id) do update set firmware = excluded.firmware;
  return null;
end $$;

-- The rows that differ are found first, and each is updated by its key: no other order of the join is left. Between the two, no
-- other transaction changes a copy, because this one has locked the status.
create or replace function keep_device_copies() returns trigger language plpgsql
set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
begin
  update device_connection known
  set status = changed.status, disconnected_at = changed.disconnected_at, booted_at = changed.booted_at
  from (
    select kept.* from (
      select org_id, device_id, case when connected then 'connected' else 'disconnected' end as status,
        case when not connected then disconnected_at end as disconnected_at, case when connected then booted_at end as booted_at
      from written
    ) as kept
    cross join lateral (
      select * from device_connection where org_id = kept.org_id and device_id = kept.device_id limit 1) copy
    where copy.status <> kept.status or copy.disconnected_at is distinct from kept.disconnected_at
      or copy.booted_at is distinct from kept.booted_at
    offset 0
  ) as changed
  where known.org_id = changed.org_id and known.device_id = changed.device_id;
  update device_version known set firmware = changed.firmware
  from (
    select kept.org_id, kept.device_id, kept.firmware from written kept
    cross join lateral (
      select firmware from device_version where org_id = kept.org_id and device_id = kept.device_id limit 1) copy
    where copy.firmware is distinct from kept.firmware
    offset 0
  ) as changed
  where known.org_id = changed.org_id and known.device_id = changed.device_id;
  return null;
end $$;

drop trigger device_status_copied_when_added on device_status;
create trigger device_status_version_added after insert on device_status
  referencing new table as added for each statement execute function add_device_version();
create trigger device_status_connection_added after insert on device_status
  referencing new table as written for each statement execute function keep_device_copies();

-- A version that finds no room on its page is written as a whole, and into five indexes. Pages that are full already keep their
-- rows until these move.
alter table device_registry set (fillfactor = 60);
