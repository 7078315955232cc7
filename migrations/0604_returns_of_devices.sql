-- returned_ms: when a device came back from its last outage, in service time. Unlike connected_ms, a restart of the service does not change
-- it: a device that comes back after one was not away. See docs/decisions/0755-returns-of-devices.md.

-- The column stands with those that a connection changes, because an update writes what is between the first and the last byte that
-- differ: at the end of the table it would take 250 bytes of the log per device of an upgrade.
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
  returned_ms            double precision,
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
