-- A look at all sites compares the settings of each one. Those of an organization apply to up to ten thousand sites and may have a
-- megabyte, so the look reads a hash.
alter table org_setting add column auto_upgrade_hash text
  generated always as (hashtextextended((doc -> 'auto_upgrade')::text, 0)::text) stored;
alter table site_setting add column auto_upgrade_hash text
  generated always as (hashtextextended((doc -> 'auto_upgrade')::text, 0)::text) stored;
alter table site_auto_upgrade alter column rule type text using hashtextextended(rule::text, 0)::text;
alter table site_auto_upgrade rename column rule to rule_hash;
