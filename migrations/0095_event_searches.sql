-- Searches of events, audit records and deliveries count their hits in indexes alone.
-- See docs/decisions/0065-counting-values.md.

-- Searches of an organization filter by it unless they ask for all types.
alter table device_event add column device_type text generated always as (event ->> 'device_type') stored;

drop index device_event_by_time;
create index device_event_by_time on device_event (org_id, created_at desc, id desc) include (device_type, type, site_id);
drop index device_event_by_site;
create index device_event_by_site on device_event (org_id, site_id, created_at desc, id desc) include (device_type, type);
drop index system_event_by_time;
create index system_event_by_time on system_event (org_id, created_at desc, id desc) include (type, site_id);
drop index audit_log_by_time;
create index audit_log_by_time on audit_log (org_id, created_at desc, id desc) include (admin_id, site_id);
create index audit_log_by_admin on audit_log (org_id, admin_id, created_at desc, id desc) include (site_id);
create index audit_log_by_site on audit_log (org_id, site_id, created_at desc, id desc) where site_id is not null;
drop index webhook_delivery_by_webhook;
create index webhook_delivery_by_webhook on webhook_delivery (org_id, webhook_id, created_at desc, id desc)
  include (status, status_code, topic);
-- The few that somebody looks for.
create index webhook_delivery_failed on webhook_delivery (org_id, webhook_id, created_at desc, id desc)
  include (status_code, topic) where status = 'failure';

-- Rows that no vacuum has seen yet are read although they are in the index. Most searches are for the newest.
alter table device_event set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000);
alter table system_event set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000);
alter table audit_log set (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000);
