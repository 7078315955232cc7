-- Less to write for each command. See docs/decisions/0356-outcomes-of-commands-stand-last.md.

-- An update on the page of its row writes what is between the first and the last byte that differ. What stays comes first,
-- then what a claim changes, then what an outcome changes. The image and the version of an upgrade are columns, because
-- nearly every command has both; such a command has no document of parameters.
alter table support_file drop constraint support_file_org_id_device_command_id_fkey;
alter table device_command rename to former_device_command;
create table device_command (
  org_id          uuid not null,
  id              uuid not null,
  device_id       uuid not null,
  -- Null for a command of a person.
  site_upgrade_id uuid,
  -- The site of the device when the command was requested.
  site_id         uuid,
  created_at      timestamptz not null,
  -- Null for a command of an upgrade.
  expires_at      timestamptz,
  image_id        uuid,
  kind            text not null check (kind in ('restart', 'upgrade', 'stage', 'activate', 'locate', 'unlocate', 'ping',
                    'support', 'restore_backup', 'snapshot')),
  version         text,
  params          jsonb default '{}',
  attempt         integer not null default 1,
  -- The call that carries it: see migration 26.
  call_id         integer,
  -- The epoch of the session that carries it.
  epoch           bigint,
  sent_at         timestamptz,
  sent_ms         double precision,
  progress_ms     double precision,
  finished_at     timestamptz,
  settled_at      timestamptz,
  -- queued -> sent -> done | rejected | unknown; queued -> expired | cancelled
  state           text not null default 'queued'
                    check (state in ('queued', 'sent', 'done', 'rejected', 'unknown', 'expired', 'cancelled')),
  progress        jsonb,
  -- {code, text} of a refusal, {why} of an unknown outcome, {text} of a success.
  outcome         jsonb,
  -- See migration 285.
  pending         text generated always as (
                    case when state = 'queued' or state = 'sent' and site_upgrade_id is null then state end) stored,
  unsettled       boolean generated always as (
                    case when kind = 'restore_backup' and state in ('done', 'unknown') and settled_at is null then true end) stored,
  check ((image_id is null) = (version is null)),
  check ((image_id is null) = (params is not null))
) with (fillfactor = 40);

insert into device_command (org_id, id, device_id, site_upgrade_id, site_id, created_at, expires_at, image_id, kind, version,
  params, attempt, call_id, epoch, sent_at, sent_ms, progress_ms, finished_at, settled_at, state, progress, outcome)
select org_id, id, device_id, site_upgrade_id, site_id, created_at, expires_at,
  case when of_image then (params ->> 'image_id')::uuid end, kind, case when of_image then params ->> 'version' end,
  case when not of_image then params end, attempt, call_id, epoch, sent_at, sent_ms, progress_ms, finished_at, settled_at,
  state, progress, outcome
from (select *, params ?& array['image_id', 'version'] as of_image from former_device_command) former;
drop table former_device_command;

create unique index device_command_of_device on device_command (device_id, site_upgrade_id, kind, attempt);
create index device_command_queued on device_command (device_id, id) where pending = 'queued';
create index device_command_in_flight on device_command (device_id) where pending = 'sent';
create index device_command_unsettled_restore on device_command (device_id) where unsettled;
-- The key is the newest index: see migration 156.
alter table device_command
  add primary key (org_id, id),
  add foreign key (org_id, device_id) references device (org_id, id) on delete cascade;
alter table support_file
  add foreign key (org_id, device_command_id) references device_command (org_id, id) on delete cascade;
