import { type Radio, type WirelessClient, telemetryLimits } from '../../../devices/telemetry/telemetry.ts'
import {
  type Fields,
  counterOf,
  dbmOf,
  fieldsOf,
  integerIn,
  ipOf,
  listOf,
  macOf,
  numberIn,
  textOf,
} from '../../report-values.ts'
import { countersOf } from './counters.ts'
import type { Cell } from './decode-radios.ts'
import { withoutUndefined } from '../../../platform/records.ts'

const { wireless: MAX, interfaces: MAX_INTERFACES, wired: MAX_HOSTS, name: MAX_NAME } = telemetryLimits

const SECONDS = [0, 3.2e9] as const
/** Devices write kbit/s. */
const RATE_KBPS = [0, 100_000_000] as const

/** Decodes the stations of all cells. `total` counts those beyond the limit as well. */
export function decodeCells(
  cells: readonly Cell[],
  state: Fields,
): { readonly wireless: readonly WirelessClient[]; readonly total: number } {
  const addresses = addressesOf(state)
  const wireless = new Map<string, WirelessClient>()
  for (const cell of cells)
    for (const association of cell.associations.map(fieldsOf)) {
      const mac = macOf(association['station'])
      if (mac === undefined || wireless.size >= MAX) continue
      wireless.set(mac, clientOf(mac, { cell, association, ip: addresses.get(mac) }))
    }
  const seen = [...new Set(cells.map(({ radio }) => radio))]
  return { wireless: [...wireless.values()], total: seen.reduce((sum, radio) => sum + radio.num_clients, 0) }
}

interface Station {
  readonly cell: Cell
  readonly association: Fields
  readonly ip: string | undefined
}

function clientOf(mac: string, { cell, association, ip }: Station): WirelessClient {
  const { radio, ssid, bssid } = cell
  const rssi = dbmOf(association['rssi'])
  const noise = radio.noise_floor
  const [received, sent] = [fieldsOf(association['rx_rate']), fieldsOf(association['tx_rate'])]
  // A lease of the device's own DHCP server is an object.
  const lease = association['ipaddr_v4']
  return withoutUndefined({
    mac,
    band: radio.band,
    channel: radio.channel,
    ssid,
    bssid: macOf(association['bssid']) ?? bssid,
    rssi,
    snr: rssi === undefined || noise === undefined ? undefined : rssi - noise,
    rx_rate: rateOf(received),
    tx_rate: rateOf(sent),
    tx_retries: counterOf(association['tx_retries']),
    proto: protoOf(radio, [received, sent]),
    connected_s: integerIn(association['connected'], SECONDS),
    idle_s: integerIn(association['inactive'], SECONDS),
    ip: ipOf(typeof lease === 'object' ? fieldsOf(lease)['address'] : lease) ?? ip,
    hostname: hostnameOf(fieldsOf(lease)['hostname']),
    vlan: integerIn(association['dynamic_vlan'], [1, 4094]),
    ...countersOf(association),
  })
}

function rateOf({ bitrate }: Fields): number | undefined {
  const kbps = numberIn(bitrate, RATE_KBPS)
  return kbps === undefined ? undefined : kbps / 1000
}

const generations = [
  { flag: 'eht', proto: 'be' },
  { flag: 'he', proto: 'ax' },
  { flag: 'vht', proto: 'ac' },
  { flag: 'ht', proto: 'n' },
] as const

/**
 * Returns the newest protocol that the last frames used: a client sends some frames at legacy rates, whatever its
 * capabilities.
 */
function protoOf({ band }: Radio, rates: readonly Fields[]): WirelessClient['proto'] {
  // For each client of each report: a callback for each generation and rate would cost more than the comparisons.
  for (const { flag, proto } of generations) for (const rate of rates) if (rate[flag] === true) return proto
  if (rates.every((rate) => rateOf(rate) === undefined)) return undefined
  return band === '24' ? 'g' : band === '5' ? 'a' : 'ax'
}

/** DHCP servers write `*` for a client without a name. */
function hostnameOf(value: unknown): string | undefined {
  return value === '*' ? undefined : textOf(value, MAX_NAME)
}

/** The addresses that the device saw its neighbors use, by MAC. */
function addressesOf(state: Fields): ReadonlyMap<string, string> {
  const hosts = listOf(state['interfaces'], MAX_INTERFACES).flatMap((one) =>
    listOf(fieldsOf(one)['clients'], MAX_HOSTS),
  )
  return new Map(
    hosts.slice(0, MAX_HOSTS).flatMap((host) => {
      const { mac, ipv4_addresses: addresses } = fieldsOf(host)
      const [id, ip] = [macOf(mac), ipOf(listOf(addresses, 1)[0])]
      return id === undefined || ip === undefined ? [] : [[id, ip]]
    }),
  )
}
