-- Each retry of a failed target begins another run of it. The column has the runs before, the oldest first.
alter table mxedge_upgrade_target add column runs jsonb not null default '[]';
