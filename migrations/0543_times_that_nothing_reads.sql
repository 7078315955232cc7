-- Nothing reads these times: the log of the account and the audit log have both changes.
alter table oauth_identity drop column linked_at;
alter table call_home_secret drop column rotated_at;
