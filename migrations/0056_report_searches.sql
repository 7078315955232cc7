-- Searches for devices by what they reported, by claim codes and by their connection. See
-- docs/decisions/0033-search-filters.md.

-- A descending sort by site ends with the devices that have none; the other index begins with them.
create index device_by_site_last on device (org_id, site_id desc nulls last, id desc nulls last);

-- Beginnings of claim codes; equality has this index too.
create index device_by_claim_code on device (org_id, claim_code text_pattern_ops) include (type, site_id);

-- Only devices that are not connected have an entry. A report changes neither column, so its update stays HOT.
create index device_status_by_disconnect on device_status
  (org_id, (case when not connected then disconnected_at end), device_id)
  where (case when not connected then disconnected_at end) is not null;

-- That of the device, which never changes: an index that contains it answers how many access points have a value.
alter table device_summary add column type text;
update device_summary set type = device.type
from device where device.org_id = device_summary.org_id and device.id = device_summary.device_id;

-- A plan made while the table was empty would read all of it for each row of a bulk insert.
create function set_summary_type() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  update device_summary set type = device.type from device
  where device.org_id = new.org_id and device.id = new.device_id
    and device_summary.org_id = new.org_id and device_summary.device_id = new.device_id;
  return null;
end $$;

-- After the insert, which the first report of a device makes. A trigger before it would run with every report.
create trigger device_summary_added after insert on device_summary
  for each row execute function set_summary_type();

drop index device_summary_by_band_24;
drop index device_summary_by_band_5;
drop index device_summary_by_band_6;
drop index device_summary_by_neighbor;
create index device_summary_by_band_24_channel on device_summary (org_id, band24_channel) include (type, device_id)
  where band24_channel is not null;
create index device_summary_by_band_24_bandwidth on device_summary (org_id, band24_bandwidth) include (type, device_id)
  where band24_bandwidth is not null;
create index device_summary_by_band_24_power on device_summary (org_id, band24_power) include (type, device_id)
  where band24_power is not null;
create index device_summary_by_band_5_channel on device_summary (org_id, band5_channel) include (type, device_id)
  where band5_channel is not null;
create index device_summary_by_band_5_bandwidth on device_summary (org_id, band5_bandwidth) include (type, device_id)
  where band5_bandwidth is not null;
create index device_summary_by_band_5_power on device_summary (org_id, band5_power) include (type, device_id)
  where band5_power is not null;
create index device_summary_by_band_6_channel on device_summary (org_id, band6_channel) include (type, device_id)
  where band6_channel is not null;
create index device_summary_by_band_6_bandwidth on device_summary (org_id, band6_bandwidth) include (type, device_id)
  where band6_bandwidth is not null;
create index device_summary_by_band_6_power on device_summary (org_id, band6_power) include (type, device_id)
  where band6_power is not null;
create index device_summary_by_port_speed on device_summary (org_id, eth0_port_speed) include (type, device_id)
  where eth0_port_speed is not null;
create index device_summary_by_neighbor on device_summary (org_id, lldp_system_name text_pattern_ops)
  include (type, device_id) where lldp_system_name is not null;
create index device_summary_by_neighbor_port on device_summary (org_id, lldp_port_id text_pattern_ops)
  include (type, device_id) where lldp_port_id is not null;
create index device_summary_by_neighbor_address on device_summary (org_id, lldp_mgmt_addr text_pattern_ops)
  include (type, device_id) where lldp_mgmt_addr is not null;
-- Descriptions may be longer than an index entry can be, and are searched by a part.
create index device_summary_by_part on device_summary using gin
  (org_id, lldp_system_name gin_trgm_ops, lldp_system_desc gin_trgm_ops, lldp_port_id gin_trgm_ops,
   lldp_mgmt_addr gin_trgm_ops) with (fastupdate = off);
