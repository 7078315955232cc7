-- Edge appliances, the clusters they work in, and what happened to them.

-- Hardware that the service knows of by a manifest; whoever has the claim code of the label may claim it.
create table mxedge_registry (
  -- A function of the MAC, as that of a device.
  id         uuid primary key,
  mac        text not null unique,
  serial     text not null,
  model      text not null,
  claim_code text not null,
  -- The organization that claimed it.
  org_id     uuid references org (id) on delete set null,
  created_at timestamptz not null
);
create unique index mxedge_registry_by_claim on mxedge_registry (upper(replace(claim_code, '-', '')));
create index mxedge_registry_unclaimed on mxedge_registry (id) where org_id is null;

create table mxcluster (
  org_id      uuid not null references org (id) on delete cascade,
  id          uuid not null,
  -- Everything the client set, in wire shape: unknown keys are kept and echoed.
  doc         jsonb not null default '{}',
  created_at  timestamptz not null,
  modified_at timestamptz not null,
  primary key (org_id, id)
);

create table mxedge (
  org_id             uuid not null references org (id) on delete cascade,
  -- Of claimed hardware that of the registry; of others a new one.
  id                 uuid not null unique,
  site_id            uuid,
  mxcluster_id       uuid,
  name               text not null,
  model              text not null,
  -- Null until they are known: an appliance that is a virtual machine has no label.
  mac                text,
  serial             text,
  doc                jsonb not null default '{}',
  -- What an appliance shows to register as this one: at first the code of the label, where there is one.
  registration_code  text not null,
  -- Counts the registrations that were called off. What an appliance was given when it registered counts
  -- only in the epoch in which it was given.
  registration_epoch integer not null default 1,
  -- When the present appliance registered; null where none has.
  registered_at      timestamptz,
  created_at         timestamptz not null,
  modified_at        timestamptz not null,
  primary key (org_id, id),
  foreign key (org_id, site_id) references site (org_id, id) on delete set null (site_id),
  -- A cluster stays as long as an appliance is in it.
  foreign key (org_id, mxcluster_id) references mxcluster (org_id, id)
);
create index mxedge_by_site on mxedge (org_id, site_id, id);
create index mxedge_by_cluster on mxedge (org_id, mxcluster_id);
-- An appliance that registers says its code and not whose it is.
create unique index mxedge_by_registration on mxedge (upper(replace(registration_code, '-', '')));

-- What happened to edge appliances, for people and for the `mxedge-events` topic; outlives them.
create table mxedge_event (
  org_id       uuid not null references org (id) on delete cascade,
  id           uuid not null,
  mxedge_id    uuid not null,
  mxcluster_id uuid,
  site_id      uuid,
  type         text not null,
  event        jsonb not null,
  created_at   timestamptz not null,
  primary key (org_id, id)
);
create index mxedge_event_by_time on mxedge_event (org_id, created_at desc, id desc);

-- Photos of an appliance where it stands; the file is in the folder of images, under `name`.
create table mxedge_image (
  org_id     uuid not null,
  mxedge_id  uuid not null,
  number     integer not null check (number between 1 and 3),
  name       text not null,
  width      integer not null,
  height     integer not null,
  created_at timestamptz not null,
  primary key (org_id, mxedge_id, number),
  foreign key (org_id, mxedge_id) references mxedge (org_id, id) on delete cascade
);
create unique index mxedge_image_by_name on mxedge_image (name);
