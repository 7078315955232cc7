-- An appliance that another organization has claimed since may be in an upgrade there, while its former organization's upgrade has yet
-- to notice that it is gone. That may take until the start of that upgrade.
drop index mxedge_upgrade_target_active;
create unique index mxedge_upgrade_target_active on mxedge_upgrade_target (mxedge_id, org_id)
  where state not in ('upgraded', 'failed', 'skipped', 'cancelled');
