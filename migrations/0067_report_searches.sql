-- Searches for devices by what they reported. See docs/decisions/0048-counting-before-reading.md.

-- The device's type, which never changes: an index that contains it answers how many access points have a value.
alter table device_summary add column type text;
update device_summary set type = device.type
from device where device.org_id = device_summary.org_id and device.id = device_summary.device_id;
alter table device_summary alter column type set not null;

-- Summaries are written only when they differ, and rarely differ in a column that has an index.
alter table device_summary set (fillfactor = 80);

drop index device_summary_by_band_24;
drop index device_summary_by_band_5;
drop index device_summary_by_band_6;
drop index device_summary_by_neighbor;
-- Many devices share each value, so that entries without a device's id take a tenth of the space.
create index device_summary_by_band_24_channel on device_summary (org_id, band24_channel, type)
  where band24_channel is not null;
create index device_summary_by_band_24_bandwidth on device_summary (org_id, band24_bandwidth, type)
  where band24_bandwidth is not null;
create index device_summary_by_band_24_power on device_summary (org_id, band24_power, type)
  where band24_power is not null;
create index device_summary_by_band_5_channel on device_summary (org_id, band5_channel, type)
  where band5_channel is not null;
create index device_summary_by_band_5_bandwidth on device_summary (org_id, band5_bandwidth, type)
  where band5_bandwidth is not null;
create index device_summary_by_band_5_power on device_summary (org_id, band5_power, type)
  where band5_power is not null;
create index device_summary_by_band_6_channel on device_summary (org_id, band6_channel, type)
  where band6_channel is not null;
create index device_summary_by_band_6_bandwidth on device_summary (org_id, band6_bandwidth, type)
  where band6_bandwidth is not null;
create index device_summary_by_band_6_power on device_summary (org_id, band6_power, type)
  where band6_power is not null;
create index device_summary_by_port_speed on device_summary (org_id, eth0_port_speed, type)
  where eth0_port_speed is not null;
create index device_summary_by_neighbor on device_summary (org_id, lldp_system_name text_pattern_ops, type)
  where lldp_system_name is not null;
create index device_summary_by_neighbor_text on device_summary (org_id, lldp_system_desc text_pattern_ops, type)
  where lldp_system_desc is not null;
create index device_summary_by_neighbor_port on device_summary (org_id, lldp_port_id text_pattern_ops, type)
  where lldp_port_id is not null;
create index device_summary_by_neighbor_address on device_summary (org_id, lldp_mgmt_addr text_pattern_ops, type)
  where lldp_mgmt_addr is not null;
create index device_summary_by_part on device_summary using gin
  (org_id, lldp_system_name gin_trgm_ops, lldp_system_desc gin_trgm_ops, lldp_port_id gin_trgm_ops,
   lldp_mgmt_addr gin_trgm_ops) with (fastupdate = off);
