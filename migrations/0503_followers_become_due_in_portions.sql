-- When a retry becomes due earlier, the messages that wait for it follow in portions: the position, among the messages by their due time
-- and id, of which the portions look at the ones before. See docs/decisions/0487-delayed-messages-in-portions.md.
alter table webhook_lane add column followers_at timestamptz, add column followers_id uuid;
