-- The webhooks whose certificates may expire.
create index webhook_client_cert on webhook (org_id, id) where enabled and doc ? 'client_cert';
