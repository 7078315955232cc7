-- The events of devices in narrow rows: codes stand for the place and the kind of an event. See
-- docs/decisions/0315-codes-in-the-events-of-devices.md.

-- The places of events: an organization, or a site of it. Events outlive their sites, so their places do, too.
create sequence event_place_code as integer;
create table event_place (
  code    integer primary key default nextval('event_place_code'),
  org_id  uuid not null references org (id) on delete cascade,
  -- Null: the place is the organization.
  site_id uuid,
  -- The code of the organization itself.
  org     integer not null
);
alter sequence event_place_code owned by event_place.code;
insert into event_place (code, org_id, org)
select code, id, code from (select id, nextval('event_place_code') as code from org) as numbered;
insert into event_place (org_id, site_id, org)
select found.org_id, found.site_id, org.code
from (
  select org_id, id as site_id from site
  union
  select org_id, site_id from device_event where site_id is not null
) as found
join event_place org on org.org_id = found.org_id and org.site_id is null;
create unique index event_place_by_id on event_place (org_id, coalesce(site_id, org_id));

create function add_place_of_org() returns trigger language plpgsql as $$
declare
  new_code integer := nextval('event_place_code');
begin
  insert into event_place (code, org_id, org) values (new_code, new.id, new_code);
  return null;
end $$;
create trigger org_added_to_places after insert on org for each row execute function add_place_of_org();

create function add_place_of_site() returns trigger language plpgsql as $$
begin
  insert into event_place (org_id, site_id, org)
  select org_id, new.id, code from event_place
  where org_id = new.org_id and coalesce(site_id, org_id) = new.org_id;
  return null;
end $$;
create trigger site_added_to_places after insert on site for each row execute function add_place_of_site();

-- What happened, to which type of devices. A type has a thousand codes. src/events/device-event-types.ts has the first hundred of
-- each; events of former releases have the others.
create table device_event_kind (
  code        smallint primary key,
  device_type text,
  type        text not null,
  -- True: `warn`; false: `notice`. Null: events of a former release had no level.
  warns       boolean
);
insert into device_event_kind (code, device_type, type, warns) values
  (1001, 'ap', 'AP_CONNECTED', false), (2001, 'switch', 'SW_CONNECTED', false), (3001, 'gateway', 'GW_CONNECTED', false),
  (1002, 'ap', 'AP_DISCONNECTED', true), (2002, 'switch', 'SW_DISCONNECTED', true), (3002, 'gateway', 'GW_DISCONNECTED', true),
  (1003, 'ap', 'AP_RESTARTED', false), (2003, 'switch', 'SW_RESTARTED', false), (3003, 'gateway', 'GW_RESTARTED', false),
  (1004, 'ap', 'AP_RESTART_BY_USER', false), (2004, 'switch', 'SW_RESTART_BY_USER', false), (3004, 'gateway', 'GW_RESTART_BY_USER', false),
  (1005, 'ap', 'AP_PART_RESTARTED', false), (2005, 'switch', 'SW_PART_RESTARTED', false), (3005, 'gateway', 'GW_PART_RESTARTED', false),
  (1006, 'ap', 'AP_RESTART_FAILED', true), (2006, 'switch', 'SW_RESTART_FAILED', true), (3006, 'gateway', 'GW_RESTART_FAILED', true),
  (1007, 'ap', 'AP_UPGRADE_BY_USER', false), (2007, 'switch', 'SW_UPGRADE_BY_USER', false), (3007, 'gateway', 'GW_UPGRADE_BY_USER', false),
  (1008, 'ap', 'AP_UPGRADE_PENDING', false), (2008, 'switch', 'SW_UPGRADE_PENDING', false), (3008, 'gateway', 'GW_UPGRADE_PENDING', false),
  (1009, 'ap', 'AP_UPGRADED', false), (2009, 'switch', 'SW_UPGRADED', false), (3009, 'gateway', 'GW_UPGRADED', false),
  (1010, 'ap', 'AP_UPGRADE_FAILED', true), (2010, 'switch', 'SW_UPGRADE_FAILED', true), (3010, 'gateway', 'GW_UPGRADE_FAILED', true),
  (1011, 'ap', 'AP_CONFIG_CHANGED_BY_USER', false), (2011, 'switch', 'SW_CONFIG_CHANGED_BY_USER', false), (3011, 'gateway', 'GW_CONFIG_CHANGED_BY_USER', false),
  (1012, 'ap', 'AP_PORT_UP', false), (2012, 'switch', 'SW_PORT_UP', false), (3012, 'gateway', 'GW_PORT_UP', false),
  (1013, 'ap', 'AP_PORT_DOWN', false), (2013, 'switch', 'SW_PORT_DOWN', false), (3013, 'gateway', 'GW_PORT_DOWN', false),
  (1014, 'ap', 'AP_CLAIMED', false), (2014, 'switch', 'SW_CLAIMED', false), (3014, 'gateway', 'GW_CLAIMED', false),
  (1015, 'ap', 'AP_UNCLAIMED', false), (2015, 'switch', 'SW_UNCLAIMED', false), (3015, 'gateway', 'GW_UNCLAIMED', false),
  (1016, 'ap', 'AP_ASSIGNED', false), (2016, 'switch', 'SW_ASSIGNED', false), (3016, 'gateway', 'GW_ASSIGNED', false),
  (1017, 'ap', 'AP_UNASSIGNED', false), (2017, 'switch', 'SW_UNASSIGNED', false), (3017, 'gateway', 'GW_UNASSIGNED', false),
  (1018, 'ap', 'AP_RECOVERY_SNAPSHOT_REQUESTED', false), (2018, 'switch', 'SW_RECOVERY_SNAPSHOT_REQUESTED', false), (3018, 'gateway', 'GW_RECOVERY_SNAPSHOT_REQUESTED', false),
  (1019, 'ap', 'AP_RECOVERY_SNAPSHOT_SUCCEEDED', false), (2019, 'switch', 'SW_RECOVERY_SNAPSHOT_SUCCEEDED', false), (3019, 'gateway', 'GW_RECOVERY_SNAPSHOT_SUCCEEDED', false),
  (1020, 'ap', 'AP_RECOVERY_SNAPSHOT_FAILED', true), (2020, 'switch', 'SW_RECOVERY_SNAPSHOT_FAILED', true), (3020, 'gateway', 'GW_RECOVERY_SNAPSHOT_FAILED', true);

alter table device_event rename to former_device_event;
alter index device_event_by_hour rename to former_device_event_by_hour;
alter index device_event_by_device rename to former_device_event_by_device;
alter index device_event_large rename to former_device_event_large;

-- The documents of events of former releases may have the level, the names and other columns.
create view complete_device_event as
select org_id, id, device_id, site_id, device_type, type, created_at,
  coalesce(device_name, event ->> 'device_name') as device_name, coalesce(site_name, event ->> 'site_name') as site_name,
  coalesce(warns, event ->> 'ev_type' = 'warn') as warns, event ->> 'apfw' as apfw,
  event - array['org_id', 'site_id', 'timestamp', 'type', 'device_type', 'mac', 'ap', 'ap_name', 'device_name', 'site_name',
    'ev_type', 'apfw'] as event
from former_device_event;

insert into device_event_kind (code, device_type, type, warns)
select case device_type when 'ap' then 1000 when 'switch' then 2000 when 'gateway' then 3000 else 4000 end + 99
    + row_number() over (partition by device_type order by type, warns),
  device_type, type, warns
from (
  select device_type, type, warns from complete_device_event
  except
  select device_type, type, warns from device_event_kind
) as unknown;

create table device_event_row (
  created_at  timestamptz not null,
  id          uuid not null,
  device_id   uuid not null,
  -- Codes of event_place: of the organization, and of the site or, without one, of the organization again.
  org         integer not null,
  place       integer not null,
  -- A code of device_event_kind.
  kind        smallint not null,
  -- Null: the device had no name, so it goes by its MAC address.
  device_name text,
  site_name   text,
  -- The version that the access point ran, where it is known.
  apfw        text,
  -- The members of the topic that no column has.
  event       jsonb not null,
  -- The size of a large document; null of others, which are nearly all.
  event_bytes integer generated always as (nullif(greatest(octet_length(event::text), 1024), 1024)) stored
);
insert into device_event_row (created_at, id, device_id, org, place, kind, device_name, site_name, apfw, event)
select event.created_at, event.id, event.device_id, place.org, place.code, kind.code,
  nullif(event.device_name, right(event.device_id::text, 12)), event.site_name, event.apfw, event.event
from complete_device_event event
join event_place place
  on place.org_id = event.org_id and coalesce(place.site_id, place.org_id) = coalesce(event.site_id, event.org_id)
join device_event_kind kind
  on kind.type = event.type and kind.device_type is not distinct from event.device_type and kind.warns is not distinct from event.warns;
drop view complete_device_event;
drop table former_device_event;

-- An hour of an organization stands together, and in it each place. The expression is that of src/events/store-hours.ts.
create unique index device_event_by_hour on device_event_row
  (org, (floor(date_part('epoch', created_at at time zone 'UTC') / 3600)::integer), place, created_at, id) include (kind)
  -- New entries come at the end of an hour, so a page that is split keeps what it has.
  with (fillfactor = 100);
-- By the hour instead of the time, because PostgreSQL stores equal entries once, and by the MAC address, which is the end of
-- the id of a device. The expression is that of src/events/store-hours.ts, too.
create index device_event_by_device on device_event_row
  (substring(uuid_send(device_id) from 11 for 6), (floor(date_part('epoch', created_at at time zone 'UTC') / 3600)::integer));
create index device_event_large on device_event_row (org, created_at) where event_bytes > 1024;
-- As before: rows that no vacuum has seen yet are read although they are in the index.
alter table device_event_row set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000);
analyze device_event_row, event_place, device_event_kind;

-- The events with what their codes stand for.
create view device_event as
select place.org_id, event.id, event.device_id, place.site_id, kind.device_type, kind.type,
  coalesce(event.device_name, right(event.device_id::text, 12)) as device_name, event.site_name, kind.warns, event.apfw,
  event.event, event.created_at
from device_event_row event
join event_place place on place.code = event.place
join device_event_kind kind on kind.code = event.kind;
