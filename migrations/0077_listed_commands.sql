-- The commands of upgrades are listed beside those of people. They belong to the site of their upgrade.
update device_command command set site_id = site_upgrade.site_id
from site_upgrade
where command.site_id is null and site_upgrade.org_id = command.org_id and site_upgrade.id = command.site_upgrade_id;

create index device_command_of_device on device_command (org_id, device_id, id);
drop index device_command_of_people;
