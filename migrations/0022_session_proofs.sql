-- When somebody last proved in a session that it is theirs: by signing in, or by the second factor. Unlike
-- `password_at` it does not ask for a password, which those who come from a provider do not have.

alter table session add column proved_at timestamptz;
update session set proved_at = created_at;
alter table session alter column proved_at set not null;
