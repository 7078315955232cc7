-- Lanes that are due come from an index, so that lanes without messages cost nothing. A lane whose messages are sent without
-- a claim has no `next_at`, and its updates stay in its page.
create index webhook_lane_due on webhook_lane (next_at) where next_at is not null;
