-- Counts the unclaimed devices for which the secret of an organization vouches: see src/devices/call-home/admit-device.ts.
create index device_session_by_org on device_session (org_id) where org_id is not null;
