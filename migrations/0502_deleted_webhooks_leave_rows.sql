-- The messages of a webhook, waiting and parked, may be half a million. Its deletion only records it, and a worker deletes them in
-- portions. See docs/decisions/0502-messages-of-deleted-webhooks-in-portions.md.
create table webhook_deletion (
  org_id uuid not null,
  webhook_id uuid not null,
  primary key (org_id, webhook_id)
);

alter table webhook_parked_message drop constraint webhook_parked_message_org_id_webhook_id_fkey;

drop trigger webhook_deletes_messages on webhook;
drop function delete_messages_of_webhook();

create function record_deletion_of_webhooks() returns trigger language plpgsql as $$
begin
  insert into webhook_deletion (org_id, webhook_id) select org_id, id from deleted;
  return null;
end $$;

create trigger webhook_records_deletion after delete on webhook referencing old table as deleted
  for each statement execute function record_deletion_of_webhooks();
