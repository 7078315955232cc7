-- An audits event is its audit record: the outbox refers to the record instead of repeating it.
-- See docs/decisions/0242-audit-events-refer-to-their-records.md.

-- The device of a change that concerns a single one. Older records have none.
alter table audit_log add column device_id uuid;

-- One index instead of two: a record is found by its time and id, as pages are.
alter table audit_log drop constraint audit_log_pkey;
drop index audit_log_by_time;
alter table audit_log add primary key (org_id, created_at, id) include (admin_id, site_id);
-- Nobody searches for records that name no admin by their admin.
drop index audit_log_by_admin;
create index audit_log_by_admin on audit_log (org_id, admin_id, created_at desc, id desc) include (site_id)
  where admin_id is not null;

-- An event without a content is the audit record of the same organization, time and id.
alter table webhook_outbox
  alter column event drop not null,
  -- The length of that event as text; null if the row has the event.
  add column audit_bytes integer,
  drop column bytes;
alter table webhook_outbox
  add column bytes integer not null generated always as (coalesce(octet_length(event::text), audit_bytes)) stored;
