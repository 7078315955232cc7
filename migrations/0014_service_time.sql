-- Service time: milliseconds for which the service has listened to devices, over all its runs. Time-outs of rollouts
-- are measured by it, so that neither an outage of the service nor a step of the clock ends them.

create table service_clock (
  id boolean primary key default true check (id),
  ms   double precision not null
);
insert into service_clock (ms) values (0);

-- What was under way counts as entered at the time zero, at which the clock stands now.
alter table upgrade_target
  add column entered_ms double precision not null default 0,
  -- Attempts that ended with the device's connection or without effect: they cost nothing.
  add column lost_attempts integer not null default 0,
  -- The next attempt goes out no earlier; null = no attempt has come to nothing.
  add column retry_at_ms double precision,
  -- An attempt's image has certainly reached the device.
  add column fetched boolean not null default false;

alter table site_upgrade
  add column phase_opened_ms double precision,
  add column due_ms double precision,
  add column lease_until_ms double precision;
update site_upgrade set due_ms = 0 where due_at is not null;
update site_upgrade set phase_opened_ms = 0 where phase_opened_at is not null;
update site_upgrade set hold = hold || '{"since_ms": 0}' where hold is not null;
alter table site_upgrade drop column phase_opened_at, drop column due_at, drop column lease_until;

alter table device_command
  add column sent_ms double precision,
  -- Commands of upgrades do not expire: their upgrade takes them back.
  alter column expires_at drop not null;
update device_command set sent_ms = 0 where sent_at is not null;
update device_command set expires_at = null where job_id is not null and state = 'queued';

alter table device_session add column connected_ms double precision not null default 0;

alter table firmware_download add column touched_ms double precision not null default 0;
