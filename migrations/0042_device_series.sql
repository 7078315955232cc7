-- Values of a device in buckets of ten minutes. Partitions of days are created ahead and dropped as a whole; a row has no
-- foreign key to its device, whose deletion deletes it: see src/devices/store.ts.
create table device_series (
  org_id     uuid not null,
  device_id  uuid not null,
  -- The beginning of the bucket.
  created_at timestamptz not null,
  -- How many reports it is made of.
  samples    integer not null,
  cpu        real,
  memory     real,
  clients    real,
  rx_bytes   bigint,
  tx_bytes   bigint,
  uptime     bigint,
  util24     real,
  util5      real,
  util6      real,
  clients24  real,
  clients5   real,
  clients6   real,
  primary key (org_id, device_id, created_at)
) partition by range (created_at);
create table device_series_default partition of device_series default;
