-- Only what is queued: with what is sent, the planner took this index for one that finds a command by its id, and read
-- it whole for each.
drop index device_command_open;
create index device_command_queued on device_command (device_id, id) where state = 'queued';
