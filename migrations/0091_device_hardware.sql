-- What devices say of their hardware. It changes rarely, so it is apart from device_status and device_report, which
-- change with every report. See docs/decisions/0063-hardware-of-devices.md.
create table device_hardware (
  org_id    uuid not null,
  device_id uuid not null,
  -- The device's type, which never changes.
  type      text not null,
  -- {unit: {...}, members: [...]}: see src/devices/hardware/hardware.ts.
  hardware  jsonb not null,
  -- A copy of what searches need.
  sku       text generated always as (hardware -> 'unit' ->> 'sku') stored,
  primary key (org_id, device_id),
  foreign key (org_id, device_id) references device (org_id, id) on delete cascade
);
create index device_hardware_by_sku on device_hardware (org_id, sku text_pattern_ops) include (type, device_id)
  where sku is not null;
