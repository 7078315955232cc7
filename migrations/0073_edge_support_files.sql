-- Edge appliances upload support files for their commands too.
alter table mxedge_command
  drop constraint mxedge_command_kind_check,
  add constraint mxedge_command_kind_check check (
    kind in ('service', 'bounce_port', 'disconnect_aps', 'configure', 'upgrade_service', 'upgrade_distro', 'support')
  );

-- `id` is that of a command to an edge appliance or of one to a device. A file is deleted with its command.
alter table support_file
  drop constraint support_file_org_id_id_fkey,
  add column of_mxedge boolean not null default false,
  add column device_command_id uuid generated always as (case when not of_mxedge then id end) stored,
  add column mxedge_command_id uuid generated always as (case when of_mxedge then id end) stored,
  add foreign key (org_id, device_command_id) references device_command (org_id, id) on delete cascade,
  add foreign key (org_id, mxedge_command_id) references mxedge_command (org_id, id) on delete cascade;
create index support_file_of_device on support_file (org_id, device_command_id) where device_command_id is not null;
create index support_file_of_mxedge on support_file (org_id, mxedge_command_id) where mxedge_command_id is not null;
