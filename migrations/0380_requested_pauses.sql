-- How many attempts of a message were answered with a request for a pause. They are among its attempts, but use up none of those
-- after which it is parked.

alter table webhook_message add column pauses integer not null default 0;
