-- No waiting message of the lane is due before this; without waiting messages it means nothing. Claims begin there: while a
-- transaction is open, the index of due messages retains the entries of all those that were delivered since it began.
-- See docs/decisions/0215-searches-begin-behind-dead-rows.md.
alter table webhook_lane add column due_from timestamptz not null default '-infinity';
