-- What a device told in one site is not shown in the next. Commands name the site for which a person sent them, and a
-- device knows since when it is in its site. Neither has a foreign key: a command may outlive the site.
alter table device_command add column site_id uuid;
alter table device add column site_since timestamptz;

-- Every move changes `modified_at`, so a device has been in its present site since then at the latest. A command from
-- before may be one of another site: nobody is shown it.
update device set site_since = modified_at where site_id is not null;
update device_command command set site_id = device.site_id
from device
where command.site_upgrade_id is null and device.org_id = command.org_id and device.id = command.device_id
  and command.created_at >= device.site_since;
