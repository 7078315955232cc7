-- How many of the cancelled targets no stop has ended. See docs/decisions/0452-releases-are-told-apart-from-stops.md.
alter table site_upgrade add column released integer not null default 0;
alter table mxedge_upgrade add column released integer not null default 0;

update site_upgrade part set released = counted.released
from (
  select target.org_id, target.upgrade_id, count(*)::integer as released from site_upgrade upgrade
  join upgrade_target target on target.org_id = upgrade.org_id and target.upgrade_id = upgrade.id
  where upgrade.counts->>'cancelled' <> '0' and target.state = 'cancelled'
    and (target.reason in ('removed', 'not_rebooted') or target.reason like 'taken over by upgrade %')
  group by target.org_id, target.upgrade_id) counted
where part.org_id = counted.org_id and part.id = counted.upgrade_id;

update mxedge_upgrade upgrade set released = counted.released
from (
  select target.org_id, target.upgrade_id, count(*)::integer as released from mxedge_upgrade_target target
  where target.state = 'cancelled'
    and (target.reason in ('removed', 'replaced', 'left the site') or target.reason like 'taken over by upgrade %')
  group by target.org_id, target.upgrade_id) counted
where upgrade.org_id = counted.org_id and upgrade.id = counted.upgrade_id;
