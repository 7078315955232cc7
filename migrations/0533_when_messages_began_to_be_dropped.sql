-- When the last series of dropped messages began, so that a person knows which events to look up; see
-- docs/decisions/0610-from-when-to-when-messages-were-dropped.md. It is unknown for those that were dropped before.
alter table webhook_lane add column overflowing_since timestamptz;
