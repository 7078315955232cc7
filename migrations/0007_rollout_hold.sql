-- Upgrades that wait for somebody to let them go on.

alter table site_upgrade
  -- {by: gate | user, reason, since_s}: no new command goes out. Null = not held.
  add column hold jsonb,
  -- The last phase at whose end a held upgrade was let go on: its gate is not asked again.
  add column gate_passed integer not null default 0;

-- Plans of canary upgrades know the sizes of their phases from now on.
update site_upgrade job set plan = plan || jsonb_build_object('phase_sizes',
  case when plan->>'strategy' = 'canary' then (
    select coalesce(jsonb_agg(
      (select count(*) from upgrade_target t
        where t.org_id = job.org_id and t.upgrade_id = job.id and t.phase = number)
      order by number), '[]')
    from generate_series(1, (plan->>'phases')::integer) number) end);
