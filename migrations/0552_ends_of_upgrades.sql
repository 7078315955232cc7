-- When an upgrade ends by itself, until it has ended.
alter table org_upgrade add column ends_at timestamptz;
create index org_upgrade_ends on org_upgrade (ends_at) where ends_at is not null;
