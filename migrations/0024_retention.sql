-- What is old is found without reading what is not; the logs of organizations have such an index already.

-- Only of commands that have ended: the updates that bring a command there touch no index.
create index device_command_ended on device_command (org_id, finished_at) where finished_at is not null;
create index account_log_by_time on account_log (admin_id, created_at);
