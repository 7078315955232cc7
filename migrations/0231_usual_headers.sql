-- True if req_headers has only what differs from the headers that nearly every request has; see
-- src/webhooks/recorded-headers.ts. Null in records from before.
alter table webhook_body add column headers_reduced boolean;
