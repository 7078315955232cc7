-- What was sent and answered is found by its delivery and the time of it. Ids of deliveries increase with time, so new entries
-- come last in the index: behind organization and time, an entry was 16 bytes longer, and half of the entries of a page were
-- moved, and logged again, whenever a page was full. See docs/decisions/0331-short-entries-of-what-was-sent.md.
alter table webhook_body drop constraint webhook_body_pkey;
alter table webhook_body add primary key (delivery_id, created_at);
