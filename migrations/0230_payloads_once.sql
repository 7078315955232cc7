-- The payload of a message is recorded by its first attempt of a day. Its later attempts of that day refer to that record.
-- See docs/decisions/0192-a-payload-is-recorded-once.md.

alter table webhook_body
  alter column req_payload drop not null,
  -- The delivery whose record has the payload, when that was, and the length of the payload; null if this record has it.
  add column payload_id    uuid,
  add column payload_at    timestamptz,
  add column payload_bytes integer;

drop index webhook_body_large;
create index webhook_body_large on webhook_body (org_id, created_at)
  where octet_length(req_headers) + coalesce(octet_length(req_payload), payload_bytes, 0)
    + coalesce(octet_length(resp_headers), 0) + coalesce(octet_length(resp_body), 0) > 3072;

-- The delivery that has recorded the body; null before the first attempt.
alter table webhook_message
  add column payload_id uuid,
  add column payload_at timestamptz;

-- One index instead of two for each delivery: everything looks for deliveries of one webhook.
alter table webhook_delivery drop constraint webhook_delivery_pkey;
drop index webhook_delivery_by_webhook;
alter table webhook_delivery add primary key (org_id, webhook_id, created_at, id) include (status, status_code, topic);
