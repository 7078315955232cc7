-- Firmware images (files), the catalog that names them, and who downloaded what.

create table firmware_image (
  org_id     uuid not null references org (id),
  -- Also the file's name in the data folder: no two rows share a file, so a delete needs no other row's leave.
  id         uuid not null,
  -- Lower-case hex.
  sha256     text not null,
  size_bytes bigint not null,
  created_at timestamptz not null,
  primary key (org_id, id)
);
-- The same bytes for a further model or version add to the image that is there.
create unique index firmware_image_by_hash on firmware_image (org_id, sha256);

create table firmware_version (
  org_id     uuid not null,
  model      text not null,
  version    text not null,
  image_id   uuid not null,
  -- `latest`, `suggested`, `stable`, `beta`, `alpha`, or null.
  tag        text,
  created_at timestamptz not null,
  primary key (org_id, model, version),
  foreign key (org_id, image_id) references firmware_image (org_id, id) on delete cascade
);
create index firmware_version_by_image on firmware_version (org_id, image_id);

-- One row a command that made a device download. `delivered_at` is written before the last byte
-- leaves, `fenced_at` stops the download for good: never both, so a fenced attempt cannot flash.
create table firmware_download (
  org_id       uuid not null,
  command_id   uuid not null,
  image_id     uuid not null,
  started_at   timestamptz not null,
  touched_at   timestamptz not null,
  bytes_served bigint not null default 0,
  delivered_at timestamptz,
  fenced_at    timestamptz,
  primary key (org_id, command_id),
  check (delivered_at is null or fenced_at is null)
) with (fillfactor = 60);
