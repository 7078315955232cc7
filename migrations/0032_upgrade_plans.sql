-- A device command belongs to a site upgrade; there are no jobs.
alter table device_command rename column job_id to site_upgrade_id;
