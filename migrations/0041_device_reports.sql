-- What each device reported last. The rows change with every report and have no index on what changes, so that updates
-- stay HOT. They are apart from device_status, which many statements read.
create table device_report (
  org_id      uuid not null,
  device_id   uuid not null,
  -- The device's site at the time of the report: clients of one site are not shown in another.
  site_id     uuid,
  reported_at timestamptz not null,
  -- When it arrived, in service time: see migration 26.
  reported_ms double precision not null,
  -- Telemetry without its clients: see src/devices/telemetry/telemetry.ts.
  report      jsonb not null,
  -- {wireless: [...], wired: [...]}.
  clients     jsonb not null,
  -- The bucket of device_series that is not over yet.
  bucket      jsonb,
  primary key (org_id, device_id),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
) with (fillfactor = 50);
-- Documents of up to a page stay in the row: apart from it, each report would write and delete rows of a second table.
alter table device_report alter column report set storage main, alter column clients set storage main,
  alter column bucket set storage main;
do $$
begin
  alter table device_report alter column report set compression lz4, alter column clients set compression lz4;
exception when feature_not_supported then
  raise notice 'This PostgreSQL was built without lz4; reports are compressed with pglz';
end $$;

-- What searches and metrics need of the last report. It is written only when it changes, which is rare.
create table device_summary (
  org_id            uuid not null,
  device_id         uuid not null,
  band24_channel    integer,
  band24_bandwidth  integer,
  band24_power      integer,
  band5_channel     integer,
  band5_bandwidth   integer,
  band5_power       integer,
  band6_channel     integer,
  band6_bandwidth   integer,
  band6_power       integer,
  eth0_port_speed   integer,
  lldp_system_name  text,
  lldp_system_desc  text,
  lldp_port_id      text,
  lldp_port_desc    text,
  lldp_mgmt_addr    text,
  -- Addresses of the radio networks, as an array of texts.
  radio_macs        jsonb,
  active_ports      integer,
  total_ports       integer,
  -- At most this many bytes are shown of the report, in steps of powers of two.
  report_bytes      integer not null,
  primary key (org_id, device_id),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
);
create index device_summary_by_band_24 on device_summary (org_id, band24_channel) where band24_channel is not null;
create index device_summary_by_band_5 on device_summary (org_id, band5_channel) where band5_channel is not null;
create index device_summary_by_band_6 on device_summary (org_id, band6_channel) where band6_channel is not null;
create index device_summary_by_neighbor on device_summary (org_id, lldp_system_name) where lldp_system_name is not null;
create index device_summary_large on device_summary (org_id, report_bytes desc) where report_bytes > 2048;
