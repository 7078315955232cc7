import { type Static, Type } from 'typebox'
import { NO_ID, Timestamp, Uuid, named } from '../../http/schemas.ts'
import { addMs, epochS } from '../../platform/time/clock.ts'
import { pageQuery } from '../../http/lists/lists.ts'
import type { ClientDevice, DeviceClients, FoundClient, WirelessClients } from './store-clients.ts'
import type { WiredClient, WirelessClient } from './telemetry.ts'

/** The counters of a wireless client; zeros for a wired one. */
const traffic = {
  rx_bps: Type.Integer(),
  tx_bps: Type.Integer(),
  rx_bytes: Type.Integer(),
  tx_bytes: Type.Integer(),
  rx_rate: Type.Number({ description: 'Mbit/s' }),
  tx_rate: Type.Number({ description: 'Mbit/s' }),
  rx_retries: Type.Integer(),
  tx_retries: Type.Integer(),
}

/**
 * A client of a device. Typed clients know only wireless ones and require most of their fields, so a wired client has
 * them too: empty texts, zeros and the null UUID mean that no device reports the value. Source: contract,
 * `stats_wireless_client`.
 */
export const ClientReply = named(
  'DeviceClient',
  Type.Object(
    {
      mac: Type.String(),
      type: Type.Enum(['wireless', 'wired']),
      ap_id: Uuid,
      ap_mac: Type.String(),
      site_id: Uuid,
      last_seen: Timestamp,
      band: Type.Enum(['24', '5', '6', ''], { description: 'empty for a wired client' }),
      channel: Type.Integer(),
      ssid: Type.String(),
      wlan_id: Uuid,
      proto: Type.String(),
      key_mgmt: Type.String(),
      is_guest: Type.Boolean(),
      rssi: Type.Number({ description: 'dBm' }),
      snr: Type.Number({ description: 'dB' }),
      hostname: Type.String(),
      ip: Type.String(),
      family: Type.String({ description: 'empty: no device reports it' }),
      manufacture: Type.String({ description: 'empty: no device reports it' }),
      model: Type.String({ description: 'empty: no device reports it' }),
      os: Type.String({ description: 'empty: no device reports it' }),
      ...traffic,
      rx_packets: Type.Optional(Type.Integer()),
      tx_packets: Type.Optional(Type.Integer()),
      idle_time: Type.Optional(Type.Number({ description: 'seconds' })),
      uptime: Type.Optional(Type.Number({ description: 'seconds' })),
      vlan_id: Type.Optional(Type.String()),
    },
    { additionalProperties: true },
  ),
)
type Client = Static<typeof ClientReply> & Readonly<Record<string, unknown>>

/** Source: the published document, `listSiteWirelessClientsStats`. */
export const SiteClientsQuery = Type.Object({
  ...pageQuery,
  wired: Type.Optional(
    Type.Boolean({ default: false, description: 'true: the wired clients, false: the wireless ones' }),
  ),
})

export function presentClient(found: FoundClient): Client {
  return found.kind === 'wired'
    ? presentWired(found.client, found, found.reportedAt)
    : presentWireless(found.client, found, found.reportedAt)
}

export function presentClients(found: DeviceClients): Client[] {
  const { clients, reportedAt } = found
  if (clients === null || reportedAt === null) return []
  return [
    ...clients.wireless.map((client) => presentWireless(client, found, reportedAt)),
    ...clients.wired.map((client) => presentWired(client, found, reportedAt)),
  ]
}

export function presentWirelessClients(found: WirelessClients): Client[] {
  return found.clients.map((client) => presentWireless(client, found, found.reportedAt))
}

const unknown = {
  hostname: '',
  ip: '',
  family: '',
  manufacture: '',
  model: '',
  os: '',
  rx_bps: 0,
  tx_bps: 0,
  rx_bytes: 0,
  tx_bytes: 0,
  rx_rate: 0,
  tx_rate: 0,
  rx_retries: 0,
  tx_retries: 0,
}

function ofDevice({ deviceId, mac, siteId }: ClientDevice) {
  return {
    ...unknown,
    ap_id: deviceId,
    ap_mac: mac,
    device_mac: mac,
    site_id: siteId,
    wlan_id: NO_ID,
    key_mgmt: '',
    is_guest: false,
  }
}

function presentWireless(client: WirelessClient, device: ClientDevice, at: Date): Client {
  const { connected_s, idle_s = 0, vlan, channel = 0, ssid = '', proto = '', rssi = 0, snr = 0, ...known } = client
  const { rx_pkts, tx_pkts, rx_bps = 0, tx_bps = 0, ...rest } = known
  return {
    ...ofDevice(device),
    ...rest,
    type: 'wireless',
    channel,
    ssid,
    proto,
    rssi,
    snr,
    // Clients of the two releases know packets by two names.
    ...(rx_pkts !== undefined && { rx_pkts, rx_packets: rx_pkts }),
    ...(tx_pkts !== undefined && { tx_pkts, tx_packets: tx_pkts }),
    ...(device.isLive && { rx_bps, tx_bps }),
    ...(vlan !== undefined && { vlan_id: String(vlan) }),
    ...(connected_s !== undefined && { uptime: connected_s, assoc_time: Math.floor(epochS(at) - connected_s) }),
    idle_time: idle_s,
    last_seen: epochS(addMs(at, -idle_s * 1000)),
  }
}

function presentWired({ mac, port, vlan, ip }: WiredClient, device: ClientDevice, at: Date): Client {
  return {
    ...ofDevice(device),
    mac,
    type: 'wired',
    port_id: port,
    ...(ip !== undefined && { ip }),
    ...(vlan !== undefined && { vlan_id: String(vlan) }),
    band: '',
    channel: 0,
    ssid: '',
    proto: '',
    rssi: 0,
    snr: 0,
    last_seen: epochS(at),
  }
}
