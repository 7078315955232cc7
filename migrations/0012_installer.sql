-- Those who mount devices make them blink.
alter table device_command
  drop constraint device_command_kind_check,
  add constraint device_command_kind_check check (kind in ('restart', 'upgrade', 'locate', 'unlocate'));
