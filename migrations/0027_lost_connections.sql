-- Service time at which the device or its network last ended its connection; a connection that ended with the service
-- does not count until the device has failed to come back. It stays when the device connects again.
alter table device_session add column disconnected_ms double precision;

-- A device that vanishes with the whole image of an upgrade proves nothing about its network.
create index upgrade_target_by_device on upgrade_target (device_id);
