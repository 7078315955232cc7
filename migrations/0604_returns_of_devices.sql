-- When a device came back from its last outage, in service time. Unlike connected_ms, a restart of the service does not change it: a
-- device that comes back after one was not away. See docs/decisions/0755-returns-of-devices.md.
alter table device_session add column returned_ms double precision;
