-- Less to write for each connection and each step of an upgrade. See docs/decisions/0366-what-changes-together-stands-together.md.

-- An update on the page of its row writes what is between the first and the last byte that differ. In a session what stays comes
-- first, then what a connection changes, then what its end changes; the facts hardly ever change. A sixth of the updates found no
-- room on their page, and wrote the row as a whole and into its indexes.
alter table device_session rename to former_device_session;
create table device_session (
  device_id              uuid not null,
  node_id                uuid not null,
  family                 text not null,
  org_id                 uuid,
  certificate_expires_at timestamptz,
  epoch                  bigint not null,
  connected_at           timestamptz not null,
  connected_ms           double precision not null default 0,
  firmware               text not null,
  reason                 text,
  boot_id                text,
  lost_at                timestamptz,
  disconnected_ms        double precision,
  connected              boolean not null,
  facts                  jsonb not null
) with (fillfactor = 50);
insert into device_session (device_id, node_id, family, org_id, certificate_expires_at, epoch, connected_at, connected_ms, firmware,
  reason, boot_id, lost_at, disconnected_ms, connected, facts)
select device_id, node_id, family, org_id, certificate_expires_at, epoch, connected_at, connected_ms, firmware,
  reason, boot_id, lost_at, disconnected_ms, connected, facts
from former_device_session;
drop table former_device_session;
create index device_session_lost on device_session (lost_at) where lost_at is not null;
create index device_session_by_org on device_session (org_id) where org_id is not null;
create index device_session_by_node on device_session (node_id);
create index device_session_by_expiry on device_session (certificate_expires_at) where certificate_expires_at is not null;
alter table device_session
  add primary key (device_id),
  add foreign key (device_id) references device_registry (id);

-- Each step of an upgrade changes the first columns after the key; only its begin and its end change the status and the rest.
alter table device_upgrade rename to former_device_upgrade;
create table device_upgrade (
  org_id         uuid not null,
  device_id      uuid not null,
  -- Null if no progress is shown, as the progress itself, will_retry and the status.
  shown_at       timestamptz,
  -- Changes with each change of the progress; clients watch it.
  status_id      integer not null default 0,
  progress       smallint,
  will_retry     boolean,
  in_flight      boolean not null default false,
  status         text,
  -- The upgrade that has the device to itself, and what others need to know of it; null: none has.
  upgrade_id     uuid,
  org_upgrade_id uuid,
  image_id       uuid,
  later_images   jsonb
-- As before: see migration 175.
) with (fillfactor = 20);
insert into device_upgrade (org_id, device_id, shown_at, status_id, progress, will_retry, in_flight, status, upgrade_id,
  org_upgrade_id, image_id, later_images)
select org_id, device_id, shown_at, status_id, progress, will_retry, in_flight, status, upgrade_id, org_upgrade_id, image_id,
  later_images
from former_device_upgrade;
drop table former_device_upgrade;
alter table device_upgrade
  add primary key (org_id, device_id),
  add foreign key (org_id, device_id) references device (org_id, id) on delete cascade;
