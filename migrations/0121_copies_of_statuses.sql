-- Copies of the statuses of devices are kept for all rows of a statement together. In an upgrade a thousand devices
-- change in one statement; a trigger for each of them took most of its time, and inserted the changes of counters one by
-- one. See docs/decisions/0078-what-an-upgrade-writes.md.

drop trigger device_status_connection_added on device_status;
drop trigger device_status_connection_changed on device_status;
drop trigger device_status_version_added on device_status;
drop trigger device_status_version_changed on device_status;
drop function keep_device_version();

drop function keep_device_connection();

-- Each report of a device changes its status, but hardly ever what is copied, so a copy is looked up by its key and only
-- written if it differs. These statements look rows up one by one, whatever PostgreSQL knows of the tables: a subquery with
-- a limit can be joined in no other way. So they need not be planned at each execution.
create function keep_device_copies() returns trigger language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
  insert into device_connection as known (org_id, device_id, type, status, disconnected_at, booted_at)
  select kept.org_id, kept.device_id, copy.type, kept.status, kept.disconnected_at, kept.booted_at
  from (
    select org_id, device_id, case when connected then 'connected' else 'disconnected' end as status,
      case when not connected then disconnected_at end as disconnected_at, case when connected then booted_at end as booted_at
    from written
  ) as kept
  cross join lateral (
    select * from device_connection where org_id = kept.org_id and device_id = kept.device_id limit 1) copy
  where copy.status <> kept.status or copy.disconnected_at is distinct from kept.disconnected_at
    or copy.booted_at is distinct from kept.booted_at
  on conflict (org_id, device_id) do update
    set status = excluded.status, disconnected_at = excluded.disconnected_at, booted_at = excluded.booted_at;
  insert into device_version as known (org_id, device_id, type, firmware)
  select kept.org_id, kept.device_id, device.type, kept.firmware
  from written kept
  left join lateral (
    select firmware from device_version where org_id = kept.org_id and device_id = kept.device_id limit 1) copy on true
  cross join lateral (select type from device where org_id = kept.org_id and id = kept.device_id limit 1) device
  where copy.firmware is distinct from kept.firmware
  on conflict (org_id, device_id) do update set firmware = excluded.firmware;
  return null;
end $$;
create trigger device_status_copied_when_added after insert on device_status
  referencing new table as written for each statement execute function keep_device_copies();
create trigger device_status_copied_when_changed after update on device_status
  referencing new table as written for each statement execute function keep_device_copies();

drop trigger device_connection_counted on device_connection;
drop trigger device_connection_uncounted on device_connection;
drop trigger device_version_added on device_version;
drop trigger device_version_changed on device_version;
drop trigger device_version_removed on device_version;
drop function count_device_connection();
drop function count_device_version();

-- The changes of each value, added up.
create function count_device_connections() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into device_value_delta (org_id, field, type, value, count)
    select org_id, 'status', type, status, -count(*) from removed group by 1, 3, 4;
  elsif exists (select from added) then
    insert into device_value_delta (org_id, field, type, value, count)
    select org_id, 'status', type, value, sum(n) from (
      select org_id, type, status as value, 1 as n from added
      union all select org_id, type, status as value, -1 as n from removed
    ) as change group by 1, 3, 4 having sum(n) <> 0;
  end if;
  return null;
end $$;
create trigger device_connection_changed after update on device_connection
  referencing old table as removed new table as added for each statement execute function count_device_connections();
create trigger device_connection_removed after delete on device_connection
  referencing old table as removed for each statement execute function count_device_connections();

create function count_device_versions() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into device_value_delta (org_id, field, type, value, count)
    select org_id, 'version', type, firmware, -count(*) from removed where firmware is not null group by 1, 3, 4;
  elsif tg_op = 'INSERT' then
    insert into device_value_delta (org_id, field, type, value, count)
    select org_id, 'version', type, firmware, count(*) from added where firmware is not null group by 1, 3, 4;
  elsif exists (select from added) then
    insert into device_value_delta (org_id, field, type, value, count)
    select org_id, 'version', type, value, sum(n) from (
      select org_id, type, firmware as value, 1 as n from added
      union all select org_id, type, firmware as value, -1 as n from removed
    ) as change where value is not null group by 1, 3, 4 having sum(n) <> 0;
  end if;
  return null;
end $$;
create trigger device_version_added after insert on device_version
  referencing new table as added for each statement execute function count_device_versions();
create trigger device_version_changed after update on device_version
  referencing old table as removed new table as added for each statement execute function count_device_versions();
create trigger device_version_removed after delete on device_version
  referencing old table as removed for each statement execute function count_device_versions();
