-- What devices and images have to know of the upgrade that has a device, so that they need not look at its target.
alter table active_upgrade_target
  add column org_upgrade_id uuid,
  add column image_id uuid,
  -- The device was commanded, and the outcome is not known yet.
  add column in_flight boolean not null default false;

update active_upgrade_target active
set org_upgrade_id = job.org_upgrade_id, image_id = target.image_id,
  in_flight = target.state in ('dl_requested', 'downloading', 'rebooting', 'verifying')
from upgrade_target target
join site_upgrade job on job.org_id = target.org_id and job.id = target.upgrade_id
where target.org_id = active.org_id and target.upgrade_id = active.upgrade_id and target.device_id = active.device_id;

alter table active_upgrade_target
  alter column org_upgrade_id set not null,
  alter column image_id set not null;
