-- The windows of an upgrade are those of the sites that its appliances were at when it was planned.
alter table mxedge_upgrade_target add column planned_site_id uuid;
alter table mxedge_upgrade add column waits_until timestamptz;
