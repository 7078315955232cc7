-- Some protocols prove the organization of a device rather than the device alone. A session that proves one belongs to no
-- device of another organization; null = the identity is the device's own.
alter table device_session add column org_id uuid;

-- The public SSH keys by which a device is known when it calls home, as SHA-256 fingerprints.
create table device_host_key (
  org_id      uuid not null,
  device_id   uuid not null,
  fingerprint text not null,
  created_at  timestamptz not null,
  primary key (org_id, device_id, fingerprint),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
);
-- A device that says nothing else is found by its key, whichever organization has it.
create index device_host_key_by_fingerprint on device_host_key (fingerprint);

-- The secret by which new devices of an organization call home is derived; each generation is another one. Without a
-- row, the generation is 0.
create table call_home_secret (
  org_id     uuid primary key references org (id) on delete cascade,
  generation integer not null,
  rotated_at timestamptz not null
);
