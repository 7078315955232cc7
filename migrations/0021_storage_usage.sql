-- What uploads take on the disk, for each organization, so that it has a bound.

-- Of the file that `name` names. 0: not measured yet; the next start of a server measures it.
alter table device_image add column bytes integer not null default 0;
alter table mxedge_image add column bytes integer not null default 0;
-- Of the file that `thumbnail` names; 0 where there is none.
alter table site_map add column thumbnail_bytes integer not null default 0;

-- One row a file, or a picture with its thumbnail. Sums read the indexes below and none of the tables.
create view storage_usage as
  select org_id, 'firmware' as kind, size_bytes as bytes from firmware_image
  union all
  select org_id, 'pictures', image_bytes::bigint + thumbnail_bytes from site_map where image is not null
  union all
  select org_id, 'pictures', bytes::bigint from device_image
  union all
  select org_id, 'pictures', bytes::bigint from mxedge_image;

create index firmware_image_bytes on firmware_image (org_id) include (size_bytes);
create index site_map_bytes on site_map (org_id) include (image_bytes, thumbnail_bytes) where image is not null;
create index device_image_bytes on device_image (org_id) include (bytes);
create index mxedge_image_bytes on mxedge_image (org_id) include (bytes);
