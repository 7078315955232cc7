-- One index has the disconnected devices with their times, instead of two. See
-- docs/decisions/0291-disconnected-devices-in-one-index.md.

drop index device_connection_by_time;
drop index device_connection_disconnected;
create index device_connection_disconnected on device_connection (org_id, device_id) include (type, disconnected_at)
  where status = 'disconnected';
