-- When the device's session began, in service time. A report may be late, so only this bounds the boot that its uptime proves:
-- the uptime was read after the session began. See src/devices/stats/decide-boot.ts. Null until the next connection.
alter table device_status add column connected_ms double precision;
