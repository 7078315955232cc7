-- Agents renew their certificates with a new key. The key that the next certificate has counts beside the present one until
-- it is used for the first time; then it replaces it. In hex, as the present ones.
alter table mxedge add column renewal_key text;
alter table router_key add column renewal_key_sha256 text;

-- When the certificate of the session's peer expires. Null for peers that prove a key, and for sessions from before.
alter table device_session add column certificate_expires_at timestamptz;
alter table mxedge_session add column certificate_expires_at timestamptz;
create index device_session_by_expiry on device_session (certificate_expires_at) where certificate_expires_at is not null;
create index mxedge_session_by_expiry on mxedge_session (certificate_expires_at) where certificate_expires_at is not null;
