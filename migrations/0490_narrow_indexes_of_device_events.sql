-- Less to write for each device event. See docs/decisions/0462-narrow-indexes-of-device-events.md.

-- The kind fills the gap that PostgreSQL would leave before the time, so an entry is 8 bytes shorter. PostgreSQL sorts the events of
-- an hour anyway. The expression is that of src/events/store-hours.ts.
drop index device_event_by_hour;
create unique index device_event_by_hour on device_event_row
  (org, (floor(date_part('epoch', created_at at time zone 'UTC') / 3600)::integer), place, id) include (kind, created_at)
  -- As before: see migration 330.
  with (fillfactor = 100);
-- The last three bytes of the MAC address and the hour take 8 bytes, and an entry 16 instead of 24. The expressions are those of
-- src/events/store-hours.ts, too.
drop index device_event_by_device;
create index device_event_by_device on device_event_row
  (substring(uuid_send(device_id) from 14 for 3), (floor(date_part('epoch', created_at at time zone 'UTC') / 3600)::integer));
analyze device_event_row;
