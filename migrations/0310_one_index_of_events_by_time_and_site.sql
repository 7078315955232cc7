-- One index serves searches by time and searches by site. See docs/decisions/0290-one-index-of-events-by-time-and-site.md.

-- An hour of an organization stands together, and in it each site. The expression is that of src/events/store-hours.ts.
create unique index device_event_by_hour on device_event
  (org_id, date_bin('1 hour', created_at, 'epoch'::timestamptz), site_id, created_at, id) include (device_type, type) nulls not distinct
  -- New entries come at the end of an hour, so a page that is split keeps what it has.
  with (fillfactor = 100);
alter table device_event drop constraint device_event_by_time;
drop index device_event_by_site;
