-- The fields of settings by which switches, SRX gateways and SSR routers are upgraded once they connect for the first time. A field without one is
-- null, because that of a site replaces that of its organization as a whole.
create function onboarding_of(doc jsonb) returns jsonb language sql immutable parallel safe as $$
  select jsonb_object_agg(name, coalesce(doc -> name -> 'auto_upgrade', 'null'))
  from unnest(array['juniper_srx', 'ssr', 'switch']) name
  where doc ? name
$$;
alter table org_setting add column onboarding jsonb generated always as (onboarding_of(doc)) stored;
alter table site_setting add column onboarding jsonb generated always as (onboarding_of(doc)) stored;
create index org_setting_onboarding on org_setting (org_id) where onboarding @? '$.* ? (@.enabled == true)';
create index site_setting_onboarding on site_setting (org_id, site_id) where onboarding @? '$.* ? (@.enabled == true)';

-- The sites where such a setting was seen.
create table onboarding_site (
  org_id  uuid not null,
  site_id uuid not null,
  setting text not null check (setting in ('juniper_srx', 'ssr', 'switch')),
  primary key (org_id, site_id, setting),
  foreign key (org_id, site_id) references site (org_id, id) on delete cascade
);

-- The devices that are not new any more. Those of organizations without such a setting are not in it.
create table onboarded_device (
  org_id    uuid not null,
  device_id uuid not null,
  primary key (org_id, device_id),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
);
