-- Less to write for each event, connection and transition. See docs/decisions/0078-what-an-upgrade-writes.md.

-- Events are written in the order of their times. PostgreSQL splits a page at whose end it inserts without moving its
-- entries, but not one at whose beginning it does, and it reads an index in both directions. The index by time is the key.
drop index device_event_by_time;
alter table device_event drop constraint device_event_pkey;
alter table device_event add constraint device_event_by_time
  primary key (org_id, created_at, id) include (device_type, type, site_id);
drop index device_event_by_site;
create index device_event_by_site on device_event (org_id, site_id, created_at, id) include (device_type, type);
-- The rows are read in any case, and a device has one owner at a time.
drop index device_event_by_device;
create index device_event_by_device on device_event (device_id, created_at);

-- An update that changes no column of an index, its condition included, writes no index and only what differs, if there
-- is room on the page of the row. Sessions of a node are read when it has ended.
drop index device_session_by_node;
create index device_session_by_node on device_session (node_id);
alter table device_session set (fillfactor = 60);
-- What differs is what is between the first and the last byte that do: columns that change often stand together, before
-- the facts, which are most of the row.
alter table device_session rename column facts to former_facts;
alter table device_session add column facts jsonb;
update device_session set facts = former_facts;
alter table device_session drop column former_facts;
alter table device_session alter column facts set not null;
alter table device_registry set (fillfactor = 80);
-- Three transitions, each with a longer timeline.
alter table upgrade_target set (fillfactor = 40);
alter table active_upgrade_target set (fillfactor = 60);
