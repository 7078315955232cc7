-- Upgrades of SSR routers have operations and lists of their own.
alter table org_upgrade add column kind text not null default 'device' check (kind in ('device', 'ssr'));

-- An upgrade may end with the download; such devices are counted by their own state.
update site_upgrade set counts = counts || '{"staged": 0}';
