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
