-- What happens to an upgrade as a whole: who decided what, when phases and sites began and ended. The report of an
-- upgrade is made from it, so it is kept as long as the upgrade. See docs/decisions/0068-reports-of-upgrades.md.
create table upgrade_event (
  org_id         uuid not null,
  org_upgrade_id uuid not null,
  id             uuid not null,
  -- As the topic `upgrade-events` has it.
  event          jsonb not null,
  primary key (org_id, org_upgrade_id, id),
  foreign key (org_id, org_upgrade_id) references org_upgrade (org_id, id) on delete cascade
);
