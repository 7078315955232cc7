-- What a device can be asked to do, in the same words for every protocol: {commands, restart_members, restart_nodes}.
-- It was what a uCentral device says of itself when it connects.
create function capabilities_of_0031(said jsonb, type text) returns jsonb language sql immutable as $$
  select jsonb_build_object(
    'commands', case when type = 'ap' then '["restart", "upgrade", "locate", "unlocate"]'::jsonb
      else '["restart", "upgrade"]' end,
    'restart_members', case
      when not coalesce(said -> 'x-signalbox' -> 'methods' ? 'reboot', false) then '[]'
      when said -> 'x-signalbox' ? 'members' then coalesce((
        select jsonb_agg(member -> 'member') from jsonb_array_elements(said -> 'x-signalbox' -> 'members') member), '[]')
      else '"any"' end,
    'restart_nodes', case when coalesce(said -> 'x-signalbox' -> 'methods' ? 'reboot', false)
      then '["node0", "node1"]'::jsonb else '[]' end)
$$;

-- A device that has never connected can be asked for nothing.
alter table device_status alter column capabilities
  set default '{"commands": [], "restart_members": [], "restart_nodes": []}';
update device_status status set capabilities = case when status.capabilities = '{}'
    then '{"commands": [], "restart_members": [], "restart_nodes": []}'
    else capabilities_of_0031(status.capabilities, device.type) end
  from device where device.org_id = status.org_id and device.id = status.device_id;
update device_session set facts = jsonb_set(facts, '{capabilities}',
  capabilities_of_0031(facts -> 'capabilities', facts ->> 'type'));

-- Of the reasons to connect only those are kept that say why the device booted.
update device_session set facts = jsonb_set(facts, '{reason}', 'null') where facts ->> 'reason' in ('socket', 'recovery');

drop function capabilities_of_0031(jsonb, text);

-- Devices that don't download and reboot in one step are asked for the two apart.
alter table device_command
  drop constraint device_command_kind_check,
  add constraint device_command_kind_check
    check (kind in ('restart', 'upgrade', 'stage', 'activate', 'locate', 'unlocate'));
