-- How many devices have a value, so that searches and counts by it don't read the devices.
-- See docs/decisions/0065-counting-values.md.

-- Not less than zero only together with device_value_delta.
create table device_value_count (
  org_id uuid not null,
  -- As on the wire, such as `version`.
  field  text not null,
  type   text not null,
  value  text not null,
  count  bigint not null
);
create unique index device_value_count_by_value on device_value_count (org_id, field, type, value text_pattern_ops);

-- Changes that are not added to device_value_count yet. Writers only insert, so that none waits for another.
create table device_value_delta (
  org_id uuid not null,
  field  text not null,
  type   text not null,
  value  text not null,
  count  bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_threshold = -1);
create index device_value_delta_by_field on device_value_delta (org_id, field);

-- The counted values of a summary.
create function device_summary_values(summary device_summary) returns table (field text, value text)
  language sql immutable as $$
  select field, value from (values
    ('band_24_channel', summary.band24_channel::text), ('band_24_bandwidth', summary.band24_bandwidth::text),
    ('band_24_power', summary.band24_power::text), ('band_5_channel', summary.band5_channel::text),
    ('band_5_bandwidth', summary.band5_bandwidth::text), ('band_5_power', summary.band5_power::text),
    ('band_6_channel', summary.band6_channel::text), ('band_6_bandwidth', summary.band6_bandwidth::text),
    ('band_6_power', summary.band6_power::text), ('eth0_port_speed', summary.eth0_port_speed::text),
    ('lldp_system_name', summary.lldp_system_name), ('lldp_system_desc', summary.lldp_system_desc),
    ('lldp_port_id', summary.lldp_port_id), ('lldp_mgmt_addr', summary.lldp_mgmt_addr)
  ) as had (field, value)
$$;

insert into device_value_count (org_id, field, type, value, count)
select org_id, 'status', type, status, count(*) from device_connection group by 1, 3, 4
union all
select org_id, 'version', type, firmware, count(*) from device_fact where firmware is not null group by 1, 3, 4
union all
select org_id, field, type, value, count(*)
from device_summary summary cross join lateral device_summary_values(summary) where value is not null group by 1, 2, 3, 4;

create or replace function add_device_connections() returns trigger language plpgsql as $$
begin
  insert into device_connection (org_id, device_id, type, status)
  select org_id, id, type, 'disconnected' from added;
  insert into device_value_delta (org_id, field, type, value, count)
  select org_id, 'status', type, 'disconnected', count(*) from added group by org_id, type;
  return null;
end $$;

create function count_device_connection() returns trigger language plpgsql as $$
begin
  insert into device_value_delta (org_id, field, type, value, count)
  values (old.org_id, 'status', old.type, old.status, -1);
  if tg_op = 'UPDATE' then
    insert into device_value_delta (org_id, field, type, value, count)
    values (new.org_id, 'status', new.type, new.status, 1);
  end if;
  return null;
end $$;
create trigger device_connection_counted after update of status on device_connection for each row
  when (old.status is distinct from new.status) execute function count_device_connection();
create trigger device_connection_uncounted after delete on device_connection for each row
  execute function count_device_connection();

create function count_device_fact() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.firmware is not null then
    insert into device_value_delta (org_id, field, type, value, count)
    values (old.org_id, 'version', old.type, old.firmware, -1);
  end if;
  if tg_op <> 'DELETE' and new.firmware is not null then
    insert into device_value_delta (org_id, field, type, value, count)
    values (new.org_id, 'version', new.type, new.firmware, 1);
  end if;
  return null;
end $$;
create trigger device_fact_added after insert on device_fact for each row
  when (new.firmware is not null) execute function count_device_fact();
create trigger device_fact_changed after update on device_fact for each row
  when (old.firmware is distinct from new.firmware) execute function count_device_fact();
create trigger device_fact_removed after delete on device_fact for each row
  when (old.firmware is not null) execute function count_device_fact();

-- Summaries are written many at a time, so their changes are added up first.
create function count_device_summaries() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into device_value_delta (org_id, field, type, value, count)
    select org_id, field, type, value, count(*) from added cross join lateral device_summary_values(row(added.*)::device_summary)
    where value is not null group by 1, 2, 3, 4;
  elsif tg_op = 'DELETE' then
    insert into device_value_delta (org_id, field, type, value, count)
    select org_id, field, type, value, -count(*) from removed cross join lateral device_summary_values(row(removed.*)::device_summary)
    where value is not null group by 1, 2, 3, 4;
  elsif exists (select from added) then
    insert into device_value_delta (org_id, field, type, value, count)
    select org_id, field, type, value, sum(n) from (
      select org_id, field, type, value, 1 as n from added cross join lateral device_summary_values(row(added.*)::device_summary)
      union all
      select org_id, field, type, value, -1 from removed cross join lateral device_summary_values(row(removed.*)::device_summary)
    ) as change where value is not null group by 1, 2, 3, 4 having sum(n) <> 0;
  end if;
  return null;
end $$;
create trigger device_summary_added after insert on device_summary
  referencing new table as added for each statement execute function count_device_summaries();
create trigger device_summary_removed after delete on device_summary
  referencing old table as removed for each statement execute function count_device_summaries();
create trigger device_summary_changed after update on device_summary
  referencing old table as removed new table as added for each statement execute function count_device_summaries();

-- A sort by it read every device.
create index device_summary_by_port_desc on device_summary (org_id, lldp_port_desc text_pattern_ops, device_id) include (type)
  where lldp_port_desc is not null;
