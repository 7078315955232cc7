-- Messages are found by their ids alone, which are unique. Statistics of a table that is often empty mislead PostgreSQL, so no
-- other index may seem to serve for that: an index with a condition serves only queries that imply it, as any comparison of
-- due_at does. See docs/decisions/0294-rows-of-queues-are-found-by-id.md.
alter table webhook_message drop constraint webhook_message_pkey;
drop index webhook_message_due;
create index webhook_message_due on webhook_message (org_id, webhook_id, due_at, id) where due_at is not null;
alter table webhook_message add primary key (id);

-- Pings have had a table of their own since 0220_pings.sql.
drop index webhook_message_ping;

create or replace function delete_messages_of_webhook() returns trigger language plpgsql as $$
begin
  delete from webhook_message where org_id = old.org_id and webhook_id = old.id and due_at >= '-infinity';
  return null;
end $$;
