-- Upgrades of edge appliances download all packages before they install the first one.
alter table mxedge_upgrade_target
  add column staged integer not null default 0,
  drop constraint mxedge_upgrade_target_state_check,
  add constraint mxedge_upgrade_target_state_check check (state in ('planned', 'deferred', 'downloading', 'downloaded',
    'commanded', 'unconfirmed', 'verifying', 'upgraded', 'failed', 'skipped', 'cancelled'));
update mxedge_upgrade set counts = '{"downloading": 0, "downloaded": 0}'::jsonb || counts;

alter table mxedge_command
  drop constraint mxedge_command_kind_check,
  add constraint mxedge_command_kind_check check (
    kind in ('service', 'bounce_port', 'disconnect_aps', 'configure', 'stage_package', 'upgrade_service',
      'upgrade_distro', 'support')
  );
