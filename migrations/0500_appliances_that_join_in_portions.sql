-- The last edge appliance that an upgrade has looked at in its present pass over those that may join. Null: a pass is to begin.
alter table mxedge_upgrade add column include_after uuid;
