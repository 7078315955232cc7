-- Up to which message of a webhook the messages are in the order of their creation, since its receiver fetches them; null: all are.
alter table webhook_lane add column ordered_at timestamptz, add column ordered_id uuid;
