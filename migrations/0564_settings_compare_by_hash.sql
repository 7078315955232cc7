-- A look at all sites compares the settings of each one. Those of an organization apply to up to ten thousand sites and may have a
-- megabyte, so the look reads a hash, and which settings for new devices are on.
alter table org_setting add column auto_upgrade_hash text
  generated always as (hashtextextended((doc -> 'auto_upgrade')::text, 0)::text) stored;
alter table site_setting add column auto_upgrade_hash text
  generated always as (hashtextextended((doc -> 'auto_upgrade')::text, 0)::text) stored;
alter table site_auto_upgrade alter column rule type text using hashtextextended(rule::text, 0)::text;
alter table site_auto_upgrade rename column rule to rule_hash;

alter table org_setting drop column onboarding;
alter table site_setting drop column onboarding;
-- The fields of settings by which switches, SRX gateways and SSR routers are upgraded once they connect for the first time, and whether each is on.
-- A field without `auto_upgrade` is off, because that of a site replaces that of its organization as a whole.
create or replace function onboarding_of(doc jsonb) returns jsonb language sql immutable parallel safe as $$
  select jsonb_object_agg(name, coalesce(doc -> name -> 'auto_upgrade' @> '{"enabled": true}', false))
  from unnest(array['juniper_srx', 'ssr', 'switch']) name
  where doc ? name
$$;
alter table org_setting add column onboarding jsonb generated always as (onboarding_of(doc)) stored;
alter table site_setting add column onboarding jsonb generated always as (onboarding_of(doc)) stored;
create index org_setting_onboarding on org_setting (org_id) where onboarding @? '$.* ? (@ == true)';
create index site_setting_onboarding on site_setting (org_id, site_id) where onboarding @? '$.* ? (@ == true)';
