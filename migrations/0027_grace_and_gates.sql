-- Service time at which the device or its network last ended its connection; a connection that ended with the service
-- does not count until the device has failed to come back. It stays when the device connects again.
alter table device_session add column disconnected_ms double precision;

-- A device that vanishes with the whole image of an upgrade proves nothing about its network.
create index upgrade_target_by_device on upgrade_target (device_id);

-- Phase -> devices that were upgraded: the gate after a phase asks for one.
alter table site_upgrade add column upgraded_by_phase jsonb not null default '{}';
alter table org_upgrade add column upgraded_by_phase jsonb not null default '{}';
with counted as (
  select org_id, upgrade_id, jsonb_object_agg(phase, upgraded) as by_phase from (
    select org_id, upgrade_id, phase, count(*) as upgraded from upgrade_target
    where state = 'upgraded' group by org_id, upgrade_id, phase) phases
  group by org_id, upgrade_id
)
update site_upgrade job set upgraded_by_phase = counted.by_phase
from counted where job.org_id = counted.org_id and job.id = counted.upgrade_id and job.finished_at is null;
with counted as (
  select org_id, org_upgrade_id, jsonb_object_agg(phase, upgraded) as by_phase from (
    select job.org_id, job.org_upgrade_id, target.phase, count(*) as upgraded from upgrade_target target
    join site_upgrade job on job.org_id = target.org_id and job.id = target.upgrade_id
    where target.state = 'upgraded' group by job.org_id, job.org_upgrade_id, target.phase) phases
  group by org_id, org_upgrade_id
)
update org_upgrade upgrade set upgraded_by_phase = counted.by_phase
from counted where upgrade.org_id = counted.org_id and upgrade.id = counted.org_upgrade_id;
