-- SSR routers register by a code of their organization. The key that registered identifies the router from then on: no
-- other key can act as the device, and no device of another protocol can open a session of it.
create table router_key (
  org_id        uuid not null,
  device_id     uuid not null unique,
  -- SHA-256 of the public key, in hex.
  key_sha256    text not null,
  registered_at timestamptz not null,
  primary key (org_id, device_id),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
);

-- The boot that the device named when it connected last; another one proves a boot. Null where devices name none.
alter table device_status add column boot_id text;
