-- An appliance may download what an upgrade of its distribution needs before it upgrades.
alter table mxedge_command
  drop constraint mxedge_command_kind_check,
  add constraint mxedge_command_kind_check check (
    kind in ('service', 'bounce_port', 'disconnect_aps', 'configure', 'stage_package', 'upgrade_service',
      'stage_distro', 'upgrade_distro', 'support')
  );

-- The newest upgrade of an appliance, of which its statistics show the progress.
create index mxedge_upgrade_target_of_appliance on mxedge_upgrade_target (org_id, mxedge_id, upgrade_id);
