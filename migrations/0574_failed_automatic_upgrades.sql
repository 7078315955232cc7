-- The automatic upgrades of the site that have failed, or had not ended when the next one began. Devices that failed in them wait, not all that
-- would get the same versions. The last upgrade, `upgrade_id`, is not among them.
alter table site_auto_upgrade
  add column failed_ids uuid[] not null default '{}',
  drop column versions;
