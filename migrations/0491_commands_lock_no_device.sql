-- A command is inserted without a lock of its device. See docs/decisions/0463-commands-have-no-foreign-key-to-their-device.md.

-- The check of the foreign key locked the device, and each lock is written to the log. A transaction that inserts commands locks a
-- row that is deleted with the device: the device itself, its status, or the progress of its upgrade.
alter table device_command drop constraint device_command_org_id_device_id_fkey;

-- The id alone finds the commands: no other organization has the device before this transaction has ended. Without statistics,
-- PostgreSQL would prefer the key, which begins with the organization.
create function remove_device_commands() returns trigger language plpgsql as $$
begin
  delete from device_command where device_id = old.id;
  return old;
end $$;
-- Commands are locked before what else belongs to their device, as everywhere.
create trigger device_removed_from_commands before delete on device for each row execute function remove_device_commands();

create function remove_late_device_commands() returns trigger language plpgsql as $$
declare gone uuid;
begin
  for gone in select id from removed loop
    delete from device_command where device_id = gone;
  end loop;
  return null;
end $$;
-- It comes after the deletion of what belongs to the devices, which waits for transactions that insert commands.
create trigger device_removed_from_late_commands after delete on device
  referencing old table as removed for each statement execute function remove_late_device_commands();
