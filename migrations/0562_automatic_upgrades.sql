-- A statement that reads a field of settings reads the whole document, which may have a megabyte.
alter table org_setting add column auto_upgrade jsonb generated always as (doc -> 'auto_upgrade') stored;
alter table site_setting add column auto_upgrade jsonb generated always as (doc -> 'auto_upgrade') stored;
create index org_setting_auto_upgrade on org_setting (org_id) where auto_upgrade @> '{"enabled": true}';
create index site_setting_auto_upgrade on site_setting (org_id, site_id) where auto_upgrade @> '{"enabled": true}';

-- When the access points of a site are upgraded next by its settings, and what came of the last time.
create table site_auto_upgrade (
  org_id      uuid not null,
  site_id     uuid not null,
  -- The setting and the zone for which the time was computed.
  rule        jsonb not null,
  timezone    text not null,
  due_at      timestamptz not null,
  -- The last time; null: there was none with this setting.
  ran_at      timestamptz,
  -- The site upgrade that began then, and its versions by model; null: none began.
  upgrade_id  uuid,
  versions    jsonb,
  -- Why none began.
  reason      text,
  primary key (org_id, site_id),
  foreign key (org_id, site_id) references site (org_id, id) on delete cascade
);
