-- When the next replayed message of a webhook may be due, so that several replays in a row keep the pace of one.
alter table webhook_lane add column replays_until timestamptz;
