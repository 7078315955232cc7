-- The upgrade that a command to an edge appliance belongs to, and its number among the upgrade's commands to it. A worker
-- that repeats a round inserts no second command.
alter table mxedge_command add column upgrade_id uuid;
alter table mxedge_command add column upgrade_attempt integer;
alter table mxedge_command add constraint mxedge_command_upgrade_check check ((upgrade_id is null) = (upgrade_attempt is null));
create unique index mxedge_command_by_upgrade on mxedge_command (org_id, upgrade_id, mxedge_id, upgrade_attempt)
  where upgrade_id is not null;
