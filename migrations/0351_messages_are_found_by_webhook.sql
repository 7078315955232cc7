-- The id of a webhook is unique, so the organization before it only makes each entry longer.
drop index webhook_message_due;
create index webhook_message_due on webhook_message (webhook_id, due_at, id) where due_at is not null;
