-- Canary phases of an organization's upgrade are shares of the whole upgrade, not of each site's devices.

alter table org_upgrade
  -- {phase_sizes, max_failures}; null = each site has phases of its own.
  add column phase_plan jsonb,
  add column current_phase integer not null default 1,
  -- The last phase at whose end the held upgrade was resumed: its gate is not asked again.
  add column gate_passed integer not null default 0,
  -- Phase -> targets that its gate waits for: planned or in flight, at all sites.
  add column pending_by_phase jsonb not null default '{}',
  -- Phase -> hard failures, at all sites.
  add column failures_by_phase jsonb not null default '{}',
  -- Of the whole upgrade, as on its site upgrades: while either is set, no phase opens.
  add column hold jsonb,
  add column stopping text check (stopping in ('failed', 'cancelled')),
  -- Every round changes the counters.
  set (fillfactor = 60);

-- What was created before goes on as it was planned.
update site_upgrade set plan = plan || '{"phase_scope": "site"}';
