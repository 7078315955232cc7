-- How large rows are that lists answer, so that a list knows how many of them a page can hold without reading them.

-- What the database hands out for a document, not what it takes on disk: compressed, a hundred kilobytes may be one.
alter table site add column doc_bytes integer not null
  generated always as (octet_length(doc::text)) stored;
alter table device add column doc_bytes integer not null
  generated always as (octet_length(doc::text)) stored;
alter table mxedge add column doc_bytes integer not null
  generated always as (octet_length(doc::text)) stored;
alter table device_event add column event_bytes integer not null
  generated always as (octet_length(event::text)) stored;
alter table mxedge_event add column event_bytes integer not null
  generated always as (octet_length(event::text)) stored;
alter table audit_log add column bytes integer not null generated always as (
  octet_length(message) + coalesce(octet_length(user_agent), 0)
    + coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0)) stored;
alter table account_log add column bytes integer not null generated always as (
  octet_length(message) + coalesce(octet_length(user_agent), 0)
    + coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0)) stored;

-- Small: rows above the size that every page can hold. See http/store-bounds.ts, which has the same numbers.
create index site_large on site (org_id, doc_bytes) where doc_bytes > 1024;
create index device_large on device (org_id, doc_bytes) where doc_bytes > 1024;
create index mxedge_large on mxedge (org_id, doc_bytes) where doc_bytes > 1024;
create index device_event_large on device_event (org_id, created_at) where event_bytes > 1024;
create index mxedge_event_large on mxedge_event (org_id, created_at) where event_bytes > 1024;
create index audit_log_large on audit_log (org_id, created_at) where bytes > 1024;
create index webhook_body_large on webhook_body (org_id, created_at)
  where octet_length(req_headers) + octet_length(req_payload)
    + coalesce(octet_length(resp_headers), 0) + coalesce(octet_length(resp_body), 0) > 3072;
