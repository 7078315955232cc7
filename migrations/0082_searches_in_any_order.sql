-- Searches in any order. See docs/decisions/0055-searches-in-any-order.md.

-- Each index ends with the device: it counts the devices with a value, lists them in its order, and joins the tables
-- without reading their rows.
drop index device_by_name;
create index device_by_name on device (org_id, name_key text_pattern_ops, id) include (type, site_id);
-- Sorts tell capitals from small letters.
create index device_by_spelled_name on device (org_id, name text_pattern_ops, id) include (type, site_id);
drop index device_by_serial;
create index device_by_serial on device (org_id, serial text_pattern_ops, id) include (type, site_id);
drop index device_fact_by_firmware;
create index device_fact_by_firmware on device_fact (org_id, firmware text_pattern_ops, device_id) include (type);
drop index device_fact_by_ip;
create index device_fact_by_ip on device_fact (org_id, ip text_pattern_ops, device_id) include (type);
drop index device_fact_by_ext_ip;
create index device_fact_by_ext_ip on device_fact (org_id, ext_ip text_pattern_ops, device_id) include (type);
-- The few that a sort by the status lists first or last; their number is counted in device_connection_by_status.
create index device_connection_disconnected on device_connection (org_id, device_id) include (type)
  where status = 'disconnected';
drop index device_connection_by_time;
create index device_connection_by_time on device_connection (org_id, disconnected_at, device_id) include (type)
  where disconnected_at is not null;
drop index device_summary_by_band_24_channel;
create index device_summary_by_band_24_channel on device_summary (org_id, band24_channel, device_id) include (type)
  where band24_channel is not null;
drop index device_summary_by_band_24_bandwidth;
create index device_summary_by_band_24_bandwidth on device_summary (org_id, band24_bandwidth, device_id) include (type)
  where band24_bandwidth is not null;
drop index device_summary_by_band_24_power;
create index device_summary_by_band_24_power on device_summary (org_id, band24_power, device_id) include (type)
  where band24_power is not null;
drop index device_summary_by_band_5_channel;
create index device_summary_by_band_5_channel on device_summary (org_id, band5_channel, device_id) include (type)
  where band5_channel is not null;
drop index device_summary_by_band_5_bandwidth;
create index device_summary_by_band_5_bandwidth on device_summary (org_id, band5_bandwidth, device_id) include (type)
  where band5_bandwidth is not null;
drop index device_summary_by_band_5_power;
create index device_summary_by_band_5_power on device_summary (org_id, band5_power, device_id) include (type)
  where band5_power is not null;
drop index device_summary_by_band_6_channel;
create index device_summary_by_band_6_channel on device_summary (org_id, band6_channel, device_id) include (type)
  where band6_channel is not null;
drop index device_summary_by_band_6_bandwidth;
create index device_summary_by_band_6_bandwidth on device_summary (org_id, band6_bandwidth, device_id) include (type)
  where band6_bandwidth is not null;
drop index device_summary_by_band_6_power;
create index device_summary_by_band_6_power on device_summary (org_id, band6_power, device_id) include (type)
  where band6_power is not null;
drop index device_summary_by_port_speed;
create index device_summary_by_port_speed on device_summary (org_id, eth0_port_speed, device_id) include (type)
  where eth0_port_speed is not null;
drop index device_summary_by_neighbor;
create index device_summary_by_neighbor on device_summary (org_id, lldp_system_name text_pattern_ops, device_id) include (type)
  where lldp_system_name is not null;
drop index device_summary_by_neighbor_text;
create index device_summary_by_neighbor_text on device_summary (org_id, lldp_system_desc text_pattern_ops, device_id) include (type)
  where lldp_system_desc is not null;
drop index device_summary_by_neighbor_port;
create index device_summary_by_neighbor_port on device_summary (org_id, lldp_port_id text_pattern_ops, device_id) include (type)
  where lldp_port_id is not null;
drop index device_summary_by_neighbor_address;
create index device_summary_by_neighbor_address on device_summary (org_id, lldp_mgmt_addr text_pattern_ops, device_id) include (type)
  where lldp_mgmt_addr is not null;

-- Since when connected devices run: a copy that changes only with a boot or a connection.
alter table device_connection add column booted_at timestamptz;
update device_connection connection set booted_at = status.booted_at
from device_status status
where status.org_id = connection.org_id and status.device_id = connection.device_id and status.connected;
create index device_connection_by_boot on device_connection (org_id, booted_at, device_id) include (type)
  where booted_at is not null;

create or replace function keep_device_connection() returns trigger language plpgsql as $$
begin
  update device_connection set status = case when new.connected then 'connected' else 'disconnected' end,
    disconnected_at = case when not new.connected then new.disconnected_at end,
    booted_at = case when new.connected then new.booted_at end
  where org_id = new.org_id and device_id = new.device_id;
  return null;
end $$;
drop trigger device_status_connection_changed on device_status;
create trigger device_status_connection_changed after update on device_status for each row
  when (old.connected is distinct from new.connected or old.disconnected_at is distinct from new.disconnected_at
    or old.booted_at is distinct from new.booted_at)
  execute function keep_device_connection();

-- The few devices that are marked as managed.
create index device_managed on device (org_id, id) where doc ->> 'managed' = 'true';
