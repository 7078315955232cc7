import { DEVICES, SITES, fillOrg } from './support/filled-org.ts'
import { type Signalbox, startSignalbox } from './support/signalbox.ts'

const ROUNDS = 400
const WARM_UP = 40

/** Measures how long the server takes for a page of a hundred thousand devices, one request at a time. */
export async function run(): Promise<Record<string, unknown>> {
  const signalbox = await startSignalbox()
  try {
    const { siteId, macs } = await fillOrg(signalbox)
    const org = `/api/v1/orgs/${signalbox.orgId}`
    const lists: Record<string, string> = {
      inventory_first_page: `${org}/inventory?limit=100`,
      inventory_middle_page: `${org}/inventory?limit=100&page=${DEVICES / 200}`,
      inventory_last_page: `${org}/inventory?limit=100&page=${DEVICES / 100}`,
      // The request of the Terraform provider.
      inventory_with_members: `${org}/inventory?limit=100&vc=true&unassigned=false&modified_after=0`,
      stats_first_page: `${org}/stats/devices?type=all&limit=100`,
      stats_last_page: `${org}/stats/devices?type=all&limit=100&page=${DEVICES / 100}`,
      search_by_model: `${org}/devices/search?model=AP34&limit=100`,
      search_by_model_last_page: `${org}/devices/search?model=AP34&limit=100&page=${DEVICES / 400}`,
      inventory_search_by_model: `${org}/inventory/search?model=AP34&limit=100`,
      count_distinct_model: `${org}/devices/count?distinct=model`,
      inventory_count_distinct_model: `${org}/inventory/count?distinct=model`,
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
      inventory_search_by_claim_code: `${org}/inventory/search?magic=BEN0A*&limit=100`,
      inventory_search_connected: `${org}/inventory/search?status=connected&limit=100`,
      inventory_search_disconnected: `${org}/inventory/search?status=disconnected&limit=100`,
      inventory_search_disconnected_before: `${org}/inventory/search?disconnected_before=${Math.floor(Date.now() / 1000) - 7200}&limit=100`,
      site_devices_by_ip: `/api/v1/sites/${siteId}/devices/search?ip=10.0.*&limit=100`,
      count_by_neighbor: `${org}/devices/count?lldp_system_name=core-12*`,
      search_all_types: `${org}/devices/search?type=all&limit=100`,
      inventory_search_by_serial: `${org}/inventory/search?serial=S0a1*&limit=100`,
      inventory_search_by_part_of_serial: `${org}/inventory/search?serial=*0a1b*&limit=100`,
      inventory_search_by_text: `${org}/inventory/search?text=0a1b&limit=100`,
      inventory_search_by_name: `${org}/inventory/search?name=0a1b&type=all&limit=100`,
      inventory_by_macs: `${org}/inventory?mac=${macs.join()}&limit=100`,
      inventory_by_prefix_of_serial: `${org}/inventory?serial=S0a1*&limit=100`,
      site_devices_by_name: `/api/v1/sites/${siteId}/devices/search?hostname=*0a*&limit=100`,
      count_by_name: `${org}/devices/count?hostname=*0a1b*`,
    }
    const figures: Record<string, unknown> = {}
    for (const [name, path] of Object.entries(lists)) figures[name] = await measure(signalbox, path)
    return { devices: DEVICES, sites: SITES, rounds: ROUNDS, ...figures }
  } finally {
    await signalbox.stop()
  }
}

/**
 * Measures from the first byte of the request to the last byte of the answer, on an open connection, which is slightly
 * more than the time of the server.
 */
async function measure({ url, authorization }: Signalbox, path: string): Promise<Record<string, number>> {
  const took: number[] = []
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const start = performance.now()
    const answer = await fetch(url + path, { headers: { authorization } })
    const body = await answer.text()
    if (round >= 0) took.push(performance.now() - start)
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${body.slice(0, 200)}`)
  }
  took.sort((a, b) => a - b)
  const at = (share: number): number => Math.round((took[Math.ceil(took.length * share) - 1] ?? Number.NaN) * 10) / 10
  return { p50_ms: at(0.5), p99_ms: at(0.99) }
}
