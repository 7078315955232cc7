-- What columns of an event say is not repeated in its document, whose other members are few. Events of former releases
-- repeat it, which does no harm. See docs/decisions/0078-what-an-upgrade-writes.md.
alter table device_event alter column device_type drop expression;
