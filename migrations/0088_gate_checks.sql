-- While a gate waits for an external check: when the check is asked next, in service time, and how often it was asked.
alter table org_upgrade add column check_due_ms double precision, add column check_attempts integer not null default 0;
create index org_upgrade_checks on org_upgrade (check_due_ms) where check_due_ms is not null;
