-- Searches of deliveries by a part of the error read only the index of failures.
-- See docs/decisions/0149-filters-of-deliveries-consider-the-newest.md.

-- An entry of an index may have about 2,700 bytes; the service stores errors up to this length.
update webhook_delivery set error = left(error, 500) where status = 'failure' and length(error) > 500;
drop index webhook_delivery_failed;
create index webhook_delivery_failed on webhook_delivery (org_id, webhook_id, created_at desc, id desc)
  include (status_code, topic, error) where status = 'failure';
