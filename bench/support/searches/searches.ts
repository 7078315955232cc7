import { summaryFields } from '../../../src/devices/search/filters.ts'
import type { Searches } from './measure.ts'

interface Filled {
  readonly devices: number
  readonly orgId: string
  readonly siteId: string
  /** MAC addresses of some of the devices. */
  readonly macs: readonly string[]
}

/** The measured requests. */
export function searchesOf({ devices, orgId, siteId, macs }: Filled): Searches {
  const org = `/api/v1/orgs/${orgId}`
  return {
    lists: lists(org, devices),
    texts: textSearches(org, macs),
    reports: reportSearches(org),
    inventory: inventorySearches(org),
    several_filters: severalFilters(org),
    sorts: sorts(org),
    counts: counts(org),
    sites: siteSearches(org, `/api/v1/sites/${siteId}`),
  }
}

function siteSearches(org: string, site: string): Record<string, string> {
  return {
    site_devices_by_ip: `${site}/devices/search?ip=10.0.*&limit=100`,
    site_devices_by_name: `${site}/devices/search?hostname=*0a*&limit=100`,
    site_devices_by_version: `${site}/devices/search?version=1.*&sort=name&limit=100`,
    site_devices: `${site}/devices?type=all&limit=100`,
    site_maps: `${site}/maps?limit=100`,
    sites: `${org}/sites?limit=100`,
    sites_search: `${org}/sites/search?name=Site+1&limit=100`,
  }
}

function lists(org: string, devices: number): Record<string, string> {
  return {
    inventory_first_page: `${org}/inventory?limit=100`,
    inventory_middle_page: `${org}/inventory?limit=100&page=${Math.ceil(devices / 200)}`,
    inventory_last_page: `${org}/inventory?limit=100&page=${Math.ceil(devices / 100)}`,
    // The request of the Terraform provider.
    inventory_with_members: `${org}/inventory?limit=100&vc=true&unassigned=false&modified_after=0`,
    stats_first_page: `${org}/stats/devices?type=all&limit=100`,
    stats_last_page: `${org}/stats/devices?type=all&limit=100&page=${Math.ceil(devices / 100)}`,
    search_by_model: `${org}/devices/search?model=AP34&limit=100`,
    search_by_model_last_page: `${org}/devices/search?model=AP34&limit=100&page=${Math.ceil(devices / 400)}`,
    search_all_types: `${org}/devices/search?type=all&limit=100`,
    search_middle_page: `${org}/devices/search?limit=100&page=${Math.ceil(devices / 250)}`,
    inventory_search_by_model: `${org}/inventory/search?model=AP34&limit=100`,
    count_distinct_model: `${org}/devices/count?distinct=model`,
    inventory_count_distinct_model: `${org}/inventory/count?distinct=model`,
  }
}

function textSearches(org: string, macs: readonly string[]): Record<string, string> {
  return {
    search_by_name: `${org}/devices/search?hostname=device+0a1*&limit=100`,
    search_by_name_of_half: `${org}/devices/search?hostname=spare*&limit=100`,
    search_by_part_of_name: `${org}/devices/search?hostname=*0a1b*&limit=100`,
    search_by_mac: `${org}/devices/search?mac=0*&limit=100`,
    search_by_part_of_mac: `${org}/devices/search?mac=*0a1b*&limit=100`,
    search_by_models: `${org}/devices/search?model=AP34,AP63&limit=100`,
    search_by_prefix_of_model: `${org}/devices/search?model=AP*&limit=100`,
    search_by_other_type: `${org}/devices/search?model=SRX*&limit=100`,
    search_by_version_of_half: `${org}/devices/search?version=1.*&limit=100`,
    search_by_versions: `${org}/devices/search?version=1.0,2.0&limit=100`,
    search_by_ip: `${org}/devices/search?ip=10.1.2.*&limit=100`,
    search_by_ip_of_half: `${org}/devices/search?ip=10.0.*&limit=100`,
    search_by_part_of_ip: `${org}/devices/search?ip=*1.2.3*&limit=100`,
    inventory_search_by_serial: `${org}/inventory/search?serial=S0a1*&limit=100`,
    inventory_search_by_part_of_serial: `${org}/inventory/search?serial=*0a1b*&limit=100`,
    inventory_search_by_text: `${org}/inventory/search?text=0a1b&limit=100`,
    inventory_search_by_name: `${org}/inventory/search?name=0a1b&type=all&limit=100`,
    inventory_by_macs: `${org}/inventory?mac=${macs.join()}&limit=100`,
    inventory_by_prefix_of_serial: `${org}/inventory?serial=S0a1*&limit=100`,
  }
}

function reportSearches(org: string): Record<string, string> {
  return {
    search_by_channel_of_a_third: `${org}/devices/search?band_24_channel=6&limit=100`,
    search_by_channel: `${org}/devices/search?band_5_channel=36&limit=100`,
    search_by_powers: `${org}/devices/search?band_5_power=12,13&limit=100`,
    search_by_port_speed_of_half: `${org}/devices/search?eth0_port_speed=1000&limit=100`,
    search_by_neighbor: `${org}/devices/search?lldp_system_name=core-12*&limit=100`,
    search_by_part_of_neighbor: `${org}/devices/search?lldp_system_name=*re-12*&limit=100`,
    search_by_neighbor_port: `${org}/devices/search?lldp_port_id=ge-0/0/7&limit=100`,
    search_by_neighbor_text: `${org}/devices/search?lldp_system_desc=*release+3*&limit=100`,
    search_by_neighbor_address_of_half: `${org}/devices/search?lldp_mgmt_addr=10.100.*&limit=100`,
    search_by_cpu: `${org}/devices/search?cpu=12&limit=100`,
    search_by_clustered: `${org}/devices/search?clustered=true&type=all&limit=100`,
  }
}

function inventorySearches(org: string): Record<string, string> {
  const twoHoursAgo = Math.floor(Date.now() / 1000) - 7200
  return {
    inventory_search_by_claim_code: `${org}/inventory/search?magic=BEN0A*&limit=100`,
    inventory_search_by_part_of_claim_code: `${org}/inventory/search?magic=*0A1B*&limit=100`,
    inventory_search_connected: `${org}/inventory/search?status=connected&limit=100`,
    inventory_search_disconnected: `${org}/inventory/search?status=disconnected&limit=100`,
    inventory_search_disconnected_before: `${org}/inventory/search?disconnected_before=${twoHoursAgo}&limit=100`,
  }
}

/** Filters of different tables. */
function severalFilters(org: string): Record<string, string> {
  return {
    search_by_version_and_channel: `${org}/devices/search?version=1.*&band_24_channel=6&limit=100`,
    search_by_version_and_name: `${org}/devices/search?version=1.*&hostname=spare*&limit=100`,
    search_by_model_and_version: `${org}/devices/search?model=AP45&version=1.*&limit=100`,
    inventory_search_by_version_and_status: `${org}/inventory/search?version=1.*&status=connected&limit=100`,
    search_by_version_sorted_by_name: `${org}/devices/search?version=1.*&sort=name&limit=100`,
    search_by_channel_sorted_by_version: `${org}/devices/search?band_24_channel=6&sort=-version&limit=100`,
  }
}

function sorts(org: string): Record<string, string> {
  const of = (field: string): [string, string][] => [
    [`sort_by_${field}`, `${org}/devices/search?sort=${field}&limit=100`],
    [`sort_by_${field}_descending`, `${org}/devices/search?sort=-${field}&limit=100`],
  ]
  const fields = [
    'mac',
    'model',
    'serial',
    'type',
    'org_id',
    'site_id',
    'name',
    'status',
    'version',
    'ip',
    'ext_ip',
    'uptime',
    'last_seen',
    'managed',
    'num_members',
    'mxtunnel_status',
    'power_constrained',
    'clustered',
    ...summaryFields,
  ]
  return {
    ...Object.fromEntries(fields.flatMap((field) => of(field))),
    sort_all_types_by_name: `${org}/devices/search?type=all&sort=name&limit=100`,
    sort_all_types_by_version: `${org}/devices/search?type=all&sort=-version&limit=100`,
    sort_model_by_name: `${org}/devices/search?model=AP45&sort=name&limit=100`,
    inventory_search_sorted_by_name: `${org}/inventory/search?type=all&sort=name&limit=100`,
    inventory_search_sorted_by_status: `${org}/inventory/search?type=all&sort=status&limit=100`,
  }
}

function counts(org: string): Record<string, string> {
  const fields = ['hostname', 'ip', 'mac', 'version', 'status', 'type', 'site_id', 'lldp_system_name', 'lldp_port_id']
  return {
    count_by_name: `${org}/devices/count?hostname=*0a1b*`,
    count_by_neighbor: `${org}/devices/count?lldp_system_name=core-12*`,
    ...Object.fromEntries(fields.map((field) => [`count_distinct_${field}`, `${org}/devices/count?distinct=${field}`])),
    inventory_count_distinct_version: `${org}/inventory/count?distinct=version`,
    inventory_count_distinct_status: `${org}/inventory/count?distinct=status`,
  }
}
