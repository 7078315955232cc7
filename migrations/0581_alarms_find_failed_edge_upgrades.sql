-- The alarms look for edge upgrades that have failed lately, in all organizations. The table has few rows.
create index mxedge_upgrade_failed on mxedge_upgrade (finished_at) where status = 'failed';
