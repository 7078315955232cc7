-- Why and when a webhook was disabled, for its health: by a request, because its receiver answered 410 Gone, or because it has
-- failed for too long. Null for a webhook that is enabled, and for one that was disabled before.
alter table webhook add column disabled_at timestamptz;
alter table webhook add column disabled_why text check (disabled_why in ('request', 'gone', 'failing'));
