-- When the maintenance window opens that devices of the site upgrade wait for; null: none waits for one.
alter table site_upgrade add column waits_until timestamptz;
