-- Less to write for each connection and each report. See docs/decisions/0366-what-changes-together-stands-together.md.

-- After the key comes what a disconnect changes, then what a connect changes, and what a report changes; what hardly ever changes
-- comes last.
alter table device_outage drop constraint device_outage_org_id_device_id_fkey;
alter table device_status rename to former_device_status;
create table device_status (
  org_id          uuid not null,
  device_id       uuid not null,
  disconnected_at timestamptz,
  connected       boolean not null default false,
  -- Epoch of the session that reported last; a message of an older one writes nothing.
  epoch           bigint not null default 0,
  connected_at    timestamptz,
  -- See migration 259.
  connected_ms    double precision,
  firmware        text,
  -- See migration 62.
  boot_id         text,
  -- Counts the boots we have evidence of; "unchanged" proves that it has not rebooted.
  boot_count      integer not null default 0,
  booted_at       timestamptz,
  -- See migration 26.
  boot_known_ms   double precision,
  last_seen_at    timestamptz,
  -- What the device last said of its load: {cpu_percent?, memory_total?, memory_free?, ...}.
  load            jsonb,
  ext_ip          text,
  -- Virtual Chassis members: [{member, mac, serial, model, firmware}].
  members         jsonb,
  capabilities    jsonb not null default '{"commands": [], "restart_nodes": [], "restart_members": []}'
) with (fillfactor = 60);
insert into device_status (org_id, device_id, disconnected_at, connected, epoch, connected_at, connected_ms, firmware, boot_id,
  boot_count, booted_at, boot_known_ms, last_seen_at, load, ext_ip, members, capabilities)
select org_id, device_id, disconnected_at, connected, epoch, connected_at, connected_ms, firmware, boot_id,
  boot_count, booted_at, boot_known_ms, last_seen_at, load, ext_ip, members, capabilities
from former_device_status;
drop table former_device_status;
create index device_status_of_chassis on device_status (org_id, device_id) where jsonb_array_length(members) > 1;
-- The key is the newest index: see migration 156.
alter table device_status
  add primary key (org_id, device_id),
  add foreign key (org_id, device_id) references device (org_id, id) on delete cascade;
alter table device_outage
  add foreign key (org_id, device_id) references device_status (org_id, device_id) on delete cascade;
create trigger device_status_added after insert on device_status for each row execute function keep_device_fact();
create trigger device_status_changed after update on device_status for each row
  when (old.ext_ip is distinct from new.ext_ip or old.load ->> 'ip' is distinct from new.load ->> 'ip')
  execute function keep_device_fact();
create trigger device_status_connection_added after insert on device_status
  referencing new table as written for each statement execute function keep_device_copies();
create trigger device_status_copied_when_changed after update on device_status
  referencing new table as written for each statement execute function keep_device_copies();
create trigger device_status_version_added after insert on device_status
  referencing new table as added for each statement execute function add_device_version();
