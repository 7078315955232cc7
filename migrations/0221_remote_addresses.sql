-- The address to which a message was sent; null if none was reached, through a proxy, and for deliveries from before.
alter table webhook_body add column remote_address text;
