-- The upgrade that has a device, and the progress of its latest update, which its statistics show as `fwupdate`. Each device
-- has one row. Both change at most steps of an upgrade. The progress was in the wide row of the status before, and the
-- upgrade in a row that was inserted and deleted for each. See docs/decisions/0126-one-narrow-row-for-the-upgrade-of-a-device.md.

create table device_upgrade (
  org_id         uuid not null,
  device_id      uuid not null,
  -- Changes with each change of the progress; clients watch it.
  status_id      integer not null default 0,
  -- The progress; null: none is shown.
  progress       smallint,
  status         text,
  will_retry     boolean,
  shown_at       timestamptz,
  -- The upgrade that has the device to itself, and what others need to know of it; null: none has.
  in_flight      boolean not null default false,
  upgrade_id     uuid,
  org_upgrade_id uuid,
  image_id       uuid,
  later_images   jsonb,
  primary key (org_id, device_id),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
-- The first upgrade makes a row twice as long. There is room for it and for its versions, so that no update writes the index.
) with (fillfactor = 20);

insert into device_upgrade (org_id, device_id, status_id, progress, status, will_retry, shown_at, in_flight, upgrade_id,
  org_upgrade_id, image_id, later_images)
select device.org_id, device.id, coalesce((fwupdate->>'status_id')::integer, 0), (fwupdate->>'progress')::smallint,
  fwupdate->>'status', (fwupdate->>'will_retry')::boolean, to_timestamp((fwupdate->>'timestamp')::float8),
  coalesce(active.in_flight, false), active.upgrade_id, active.org_upgrade_id, active.image_id, active.later_images
from device
left join device_status status on status.org_id = device.org_id and status.device_id = device.id
left join active_upgrade_target active on active.org_id = device.org_id and active.device_id = device.id;

create function add_device_upgrades() returns trigger language plpgsql as $$
begin
  insert into device_upgrade (org_id, device_id) select org_id, id from added;
  return null;
end $$;
create trigger device_added_to_upgrades after insert on device
  referencing new table as added for each statement execute function add_device_upgrades();

drop table active_upgrade_target;
alter table device_status drop column fwupdate;
