-- The usual three signatures of a request, as bytes instead of headers; null if req_headers has all signatures. See
-- src/webhooks/requests/recorded-headers.ts.
alter table webhook_body add column signatures bytea;
