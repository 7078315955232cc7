-- The packages that edge appliances can get. Their files are firmware images.
create table firmware_package (
  org_id     uuid not null,
  package    text not null,
  version    text not null,
  -- The codename of the distribution that it is built for; empty: any.
  distro     text not null,
  channel    text not null check (channel in ('stable', 'beta', 'alpha')),
  is_default boolean not null,
  image_id   uuid not null,
  created_at timestamptz not null,
  primary key (org_id, package, version, distro),
  foreign key (org_id, image_id) references firmware_image (org_id, id) on delete cascade
);
create index firmware_package_by_image on firmware_package (org_id, image_id);
create unique index firmware_package_default on firmware_package (org_id, package, distro, channel) where is_default;

-- Whether an image may be deleted depends on the commands that will download it.
create index mxedge_command_by_image on mxedge_command (org_id, (params ->> 'image_id'))
  where state in ('queued', 'sent') and kind = 'upgrade_service';
