-- People let devices send pings, and collect support files.
alter table device_command
  drop constraint device_command_kind_check,
  add constraint device_command_kind_check
    check (kind in ('restart', 'upgrade', 'stage', 'activate', 'locate', 'unlocate', 'ping', 'support'));

-- The commands of a device that people have sent, for their list. Those of upgrades, which are many, don't pay for it.
create index device_command_of_people on device_command (org_id, device_id, id) where site_upgrade_id is null;

-- The files that devices upload for a command of kind `support`, one for each. They are deleted with their command.
create table support_file (
  org_id     uuid not null,
  -- The id of the command.
  id         uuid not null,
  -- Name of the file in the folder of support files.
  name       text not null,
  bytes      bigint not null,
  created_at timestamptz not null,
  primary key (org_id, id),
  foreign key (org_id, id) references device_command (org_id, id) on delete cascade
);
create unique index support_file_by_name on support_file (name);
create index support_file_bytes on support_file (org_id) include (bytes);

create or replace view storage_usage as
  select org_id, 'firmware' as kind, size_bytes as bytes from firmware_image
  union all
  select org_id, 'pictures', image_bytes::bigint + thumbnail_bytes from site_map where image is not null
  union all
  select org_id, 'pictures', bytes::bigint from device_image
  union all
  select org_id, 'pictures', bytes::bigint from mxedge_image
  union all
  select org_id, 'support', bytes from support_file;
