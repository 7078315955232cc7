-- What people keep of a device beside what it says of itself.

-- Photos of a device where it hangs; the file is in the folder of images, under `name`.
create table device_image (
  org_id     uuid not null,
  device_id  uuid not null,
  number     integer not null check (number between 1 and 3),
  name       text not null,
  width      integer not null,
  height     integer not null,
  created_at timestamptz not null,
  primary key (org_id, device_id, number),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
);
-- Of which file is whose, at start-up; files have no tenant.
create unique index device_image_by_name on device_image (name);

-- How many devices there are of each kind, so that a list of a hundred thousand knows its length, and a
-- count its answer, without reading them. Kept by triggers: it is right at every moment, for every writer.
create table device_count (
  org_id  uuid not null references org (id) on delete cascade,
  -- Null: of devices that no site has.
  site_id uuid,
  type    text not null,
  model   text not null,
  -- Zero stays: whoever adds the next waits for nobody who has just taken the last away.
  count   bigint not null,
  unique nulls not distinct (org_id, site_id, type, model),
  foreign key (org_id, site_id) references site (org_id, id) on delete cascade
);

insert into device_count (org_id, site_id, type, model, count)
select org_id, site_id, type, model, count(*) from device group by org_id, site_id, type, model;

-- In one order, as every writer does: hence no deadlock.
create function count_devices() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into device_count as known (org_id, site_id, type, model, count)
    select org_id, site_id, type, model, count(*) from added group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (org_id, site_id, type, model) do update set count = known.count + excluded.count;
  elsif tg_op = 'DELETE' then
    insert into device_count as known (org_id, site_id, type, model, count)
    select org_id, site_id, type, model, -count(*) from removed group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (org_id, site_id, type, model) do update set count = known.count + excluded.count;
  else
    insert into device_count as known (org_id, site_id, type, model, count)
    select org_id, site_id, type, model, sum(n) from (
      select org_id, site_id, type, model, 1 as n from added
      union all select org_id, site_id, type, model, -1 from removed
    ) as change group by 1, 2, 3, 4 having sum(n) <> 0 order by 1, 2, 3, 4
    on conflict (org_id, site_id, type, model) do update set count = known.count + excluded.count;
  end if;
  return null;
end $$;

create trigger device_added after insert on device
  referencing new table as added for each statement execute function count_devices();
create trigger device_removed after delete on device
  referencing old table as removed for each statement execute function count_devices();
create trigger device_changed after update on device
  referencing old table as removed new table as added for each statement execute function count_devices();

-- Lists are ordered by id, searches by the time of the last change.
create index device_by_type on device (org_id, type, id);
create index device_by_model on device (org_id, model, id) include (type);
create index device_unassigned on device (org_id, id) where site_id is null;
create index device_by_type_and_time on device (org_id, type, modified_at, id);
create index device_by_model_and_time on device (org_id, model, modified_at, id) include (type);
create index device_by_serial on device (org_id, serial);

-- The few that are a Virtual Chassis: their members are listed with the devices.
create index device_status_of_chassis on device_status (org_id, device_id) where jsonb_array_length(members) > 1;

create index device_event_by_device on device_event (org_id, device_id, created_at desc, id desc);
create index device_event_by_site on device_event (org_id, site_id, created_at desc, id desc);
