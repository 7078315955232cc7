-- A foreign key looks up the webhook for each inserted message: a third of the time of the insert. Every statement that
-- inserts messages has locked their webhook already, so only their deletion with it remains to be done.
alter table webhook_message drop constraint webhook_message_org_id_webhook_id_fkey;

create function delete_messages_of_webhook() returns trigger language plpgsql as $$
begin
  delete from webhook_message where org_id = old.org_id and webhook_id = old.id;
  return null;
end $$;

create trigger webhook_deletes_messages after delete on webhook
  for each row execute function delete_messages_of_webhook();
