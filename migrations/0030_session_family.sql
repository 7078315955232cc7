-- The protocol that the device speaks on the session, such as `ucentral`. Each session so far spoke that one; a new
-- session must name its own.
alter table device_session add column family text not null default 'ucentral';
alter table device_session alter column family drop default;
