-- What an organization demands of the people who use it, beside its row, which every request reads. Before, requests read
-- all settings of all organizations of the caller.
alter table org add column access_policy jsonb;
update org set access_policy = policy.document
from (
  select org_id, jsonb_build_object(
    'requiresTwoFactor', demanded.two_factor, 'expiryDays', demanded.days, 'idleMinutes', demanded.minutes) as document,
    demanded.two_factor or demanded.days is not null or demanded.minutes is not null as demands
  from org_setting cross join lateral (
    select
      coalesce((rules ->> 'enabled')::boolean and (rules ->> 'requires_two_factor_auth')::boolean, false) as two_factor,
      case when (rules ->> 'enabled')::boolean then nullif((rules ->> 'expiry_in_days')::integer, 0) end as days,
      nullif((doc ->> 'ui_idle_timeout')::integer, 0) as minutes
    from (select doc -> 'password_policy' as rules) as part
  ) as demanded
) as policy
where policy.org_id = org.id and policy.demands;

-- The organizations in which the session was idle for too long. The others are still open to it.
alter table session add column closed_org_ids uuid[] not null default '{}';
