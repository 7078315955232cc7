-- Gates of upgrades of edge appliances call checks, too: when the next call is due, in service time, and how often it was called.
alter table mxedge_upgrade add column check_due_ms double precision, add column check_attempts integer not null default 0;
create index mxedge_upgrade_checks on mxedge_upgrade (check_due_ms) where check_due_ms is not null;
