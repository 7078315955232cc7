-- Phases of upgrades of edge appliances wait for approvals, too. A constant default rewrites no row.
alter table mxedge_upgrade
  add column approvals jsonb not null default '[]',
  add column admin_id uuid;
