-- Floor plans of sites, and the stacks that put floors above each other.

create table site_map (
  org_id           uuid not null,
  site_id          uuid not null,
  -- Installers choose it themselves, so it is unique in the organization and no further.
  id               uuid not null,
  -- Everything the client set, in wire shape: unknown keys are kept and echoed.
  doc              jsonb not null default '{}',
  -- Names of files, see platform/images.
  image            text,
  -- A smaller copy of `image`, made by a job; null until then.
  thumbnail        text,
  -- `image` can't be shrunk: the job is not to try again.
  thumbnail_failed boolean not null default false,
  created_at       timestamptz not null,
  modified_at      timestamptz not null,
  primary key (org_id, id),
  foreign key (org_id, site_id) references site (org_id, id) on delete cascade
);
create index site_map_by_site on site_map (org_id, site_id, id);
-- Small at all times.
create index site_map_without_thumbnail on site_map (org_id, id)
  where image is not null and thumbnail is null and not thumbnail_failed;

create table map_stack (
  org_id      uuid not null,
  site_id     uuid not null,
  id          uuid not null,
  name        text not null,
  doc         jsonb not null default '{}',
  created_at  timestamptz not null,
  modified_at timestamptz not null,
  primary key (org_id, id),
  foreign key (org_id, site_id) references site (org_id, id) on delete cascade
);
create index map_stack_by_site on map_stack (org_id, site_id, id);

-- Devices on a map, found when the map goes or is replaced. Clients write ids in any case.
create index device_on_map on device (org_id, lower(doc ->> 'map_id')) where doc ? 'map_id';
