-- Edge appliances install packages and upgrade their distribution.
alter table mxedge_command drop constraint mxedge_command_kind_check;
alter table mxedge_command add constraint mxedge_command_kind_check
  check (kind in ('service', 'bounce_port', 'disconnect_aps', 'configure', 'upgrade_service', 'upgrade_distro'));

-- The step that the command has reached, and when the agent reported it.
alter table mxedge_command add column progress jsonb;
alter table mxedge_command add column progressed_at timestamptz;

-- Ed25519 over the SHA-256 of the image, in base64; null where nobody has signed it.
alter table firmware_image add column signature text;
