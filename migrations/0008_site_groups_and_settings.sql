-- Site groups, settings of sites, outages that are not told yet, and what goes with a site or an organization.

create table site_group (
  org_id      uuid not null references org (id) on delete cascade,
  id          uuid not null,
  name        text not null,
  -- Wire shape, unknown members included. Which sites are in it, the sites say: site.doc -> 'sitegroup_ids'.
  doc         jsonb not null default '{}',
  created_at  timestamptz not null,
  modified_at timestamptz not null,
  primary key (org_id, id)
);

-- Settings of a site, apart from its own record as the interface has them.
create table site_setting (
  org_id      uuid not null,
  site_id     uuid not null,
  -- Wire shape, unknown members included.
  doc         jsonb not null,
  created_at  timestamptz not null,
  modified_at timestamptz not null,
  primary key (org_id, site_id),
  foreign key (org_id, site_id) references site (org_id, id) on delete cascade
);

-- A device that is down and of which nobody was told yet: its updown threshold has not passed.
create table device_outage (
  org_id    uuid not null,
  device_id uuid not null,
  down_at   timestamptz not null,
  -- When to tell.
  due_at    timestamptz not null,
  primary key (org_id, device_id),
  -- Not the device's row: who writes here holds the status, and an unclaim locks the device before it.
  foreign key (org_id, device_id) references device_status (org_id, device_id) on delete cascade
);
create index device_outage_due on device_outage (due_at);

-- An organization or a site goes with all that is in it but devices: those stand in its way.
alter table site
  drop constraint site_org_id_fkey,
  add constraint site_org_id_fkey foreign key (org_id) references org (id) on delete cascade;
alter table firmware_image
  drop constraint firmware_image_org_id_fkey,
  add constraint firmware_image_org_id_fkey foreign key (org_id) references org (id) on delete cascade;
alter table webhook
  drop constraint webhook_org_id_fkey,
  add constraint webhook_org_id_fkey foreign key (org_id) references org (id) on delete cascade,
  drop constraint webhook_org_id_site_id_fkey,
  add constraint webhook_org_id_site_id_fkey
    foreign key (org_id, site_id) references site (org_id, id) on delete cascade;
alter table org_upgrade
  drop constraint org_upgrade_org_id_fkey,
  add constraint org_upgrade_org_id_fkey foreign key (org_id) references org (id) on delete cascade;
alter table site_upgrade
  drop constraint site_upgrade_org_id_org_upgrade_id_fkey,
  add constraint site_upgrade_org_id_org_upgrade_id_fkey
    foreign key (org_id, org_upgrade_id) references org_upgrade (org_id, id) on delete cascade;
alter table upgrade_target
  drop constraint upgrade_target_org_id_upgrade_id_fkey,
  add constraint upgrade_target_org_id_upgrade_id_fkey
    foreign key (org_id, upgrade_id) references site_upgrade (org_id, id) on delete cascade;
