-- A device command belongs to a site upgrade; there are no jobs.
alter table device_command rename column job_id to site_upgrade_id;

-- What a strategy demands of its phases is stored with the plan, so that the engine knows no strategies: gates, an array of
-- {max_failures, max_failure_percentage, min_upgraded}, null = no phase has one.
create function gates_0032(sizes jsonb, limits jsonb, percent jsonb) returns jsonb language sql immutable as $$
  select case
    when jsonb_typeof(sizes) is distinct from 'array' then 'null'
    when jsonb_typeof(limits) = 'array' then (
      select coalesce(jsonb_agg(jsonb_build_object(
        'max_failures', value, 'max_failure_percentage', null, 'min_upgraded', 0) order by number), 'null')
      from jsonb_array_elements(limits) with ordinality as one (value, number))
    when jsonb_typeof(percent) = 'number' then (
      select coalesce(jsonb_agg(jsonb_build_object(
        'max_failures', null, 'max_failure_percentage', percent, 'min_upgraded', 1)), 'null')
      from jsonb_array_elements(sizes))
    else 'null' end
$$;

-- A site upgrade whose phases are those of the whole upgrade has no gates of its own.
update site_upgrade set plan = plan - 'canary_phases' - 'max_failures' || jsonb_build_object('gates',
  case when plan ->> 'phase_scope' = 'site'
    then gates_0032(plan -> 'phase_sizes', plan -> 'max_failures', plan -> 'max_failure_percentage') else 'null' end);
update org_upgrade set phase_plan = phase_plan - 'max_failures' || jsonb_build_object('gates',
    gates_0032(phase_plan -> 'phase_sizes', phase_plan -> 'max_failures', to_jsonb(max_failure_percentage)))
  where phase_plan is not null;

drop function gates_0032(jsonb, jsonb, jsonb);

-- Devices that download and reboot in two steps: targets wait with their image (downloaded) until they are asked to
-- activate it (reboot_requested).
alter table upgrade_target add column staged boolean not null default false;
update site_upgrade set counts = '{"downloaded": 0, "reboot_requested": 0}' || counts, plan = plan || '{"stages": false}';
