-- Devices that download apart from their reboots may have phases of their own for the downloads. Null: they have none,
-- and the device downloads when the phase of its reboot opens.
alter table upgrade_target add column download_phase integer;
-- Of a site upgrade, and of the whole upgrade of an organization: which of these phases is open, and its counters.
alter table site_upgrade add column downloads jsonb;
alter table org_upgrade add column download_plan jsonb, add column downloads jsonb;
