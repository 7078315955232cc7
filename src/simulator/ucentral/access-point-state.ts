import type { Profile } from './device.ts'
import { localMac, traitOf, wave } from '../waves.ts'

type Params = Readonly<Record<string, unknown>>

interface SimulatedRadio {
  readonly band: '2G' | '5G' | '6G'
  readonly channel: number
  /** MHz. */
  readonly frequency: number
  readonly width: number
  readonly power: number
  readonly noise: number
  /** The share of the time in which its channel is busy on average. */
  readonly busy: number
}

const [channels24, channels5, channels6] = [
  [1, 6, 11],
  [36, 52, 100, 149],
  [5, 37, 69],
] as const
const triBand = /^(AP4[57]|EAP104|.*6E|.*BE)/i
const ssids = ['Office', 'Guests'] as const

function radiosOf(profile: Profile): readonly SimulatedRadio[] {
  const low = channels24[traitOf(profile, channels24.length)] ?? 6
  const middle = channels5[traitOf(profile, channels5.length, 1)] ?? 36
  const high = channels6[traitOf(profile, channels6.length, 2)] ?? 37
  return [
    { band: '2G', channel: low, frequency: 2407 + 5 * low, width: 20, power: 17, noise: -95, busy: 0.3 },
    { band: '5G', channel: middle, frequency: 5000 + 5 * middle, width: 80, power: 20, noise: -102, busy: 0.1 },
    ...(triBand.test(profile.model)
      ? [
          {
            band: '6G',
            channel: high,
            frequency: 5950 + 5 * high,
            width: 160,
            power: 23,
            noise: -98,
            busy: 0.03,
          } as const,
        ]
      : []),
  ]
}

/** On what the state of a device depends besides its profile. */
export interface Condition {
  /** Seconds. */
  readonly uptime: number
  readonly isUnhealthy: boolean
}

/**
 * The parts of the state that only access points have. An unhealthy one lacks its last radio. Source: wlan-ucentral-schema,
 * `system/state/*.uc`.
 */
export function accessPointState(profile: Profile, { uptime, isUnhealthy }: Condition): Params {
  const radios = radiosOf(profile).slice(0, isUnhealthy ? -1 : undefined)
  return {
    radios: radios.map((radio, index) => radioState(profile, { radio, index, uptime })),
    interfaces: [
      {
        name: 'up0v0',
        location: '/interfaces/0',
        uptime,
        ipv4: { addresses: [`${addressOf(profile)}/16`], leasetime: 43_200, dhcp_server: '10.20.0.1' },
        dns_servers: ['10.20.0.1'],
        counters: countersAt(uptime, 9000),
        ssids: radios.flatMap((radio, index) =>
          ssids.map((ssid, cell) => cellState(profile, { radio, index, uptime, ssid, cell })),
        ),
      },
    ],
    'link-state': {
      upstream: { eth0: { carrier: 1, speed: 1000, duplex: 'full', counters: countersAt(uptime, 9000) } },
      downstream: { eth1: { carrier: 0 } },
    },
    'lldp-peers': { upstream: { eth0: [uplinkPeer(profile)] }, downstream: {} },
  }
}

/** Returns a private address made from the last two bytes of the MAC. */
export function addressOf({ mac }: Profile): string {
  return `10.20.${Number.parseInt(mac.slice(8, 10), 16)}.${Number.parseInt(mac.slice(10), 16)}`
}

/** Counters that grow evenly: each report depends on the uptime only. */
export function countersAt(uptime: number, bytesPerS: number): Params {
  return {
    collisions: 0,
    multicast: uptime,
    rx_bytes: uptime * bytesPerS * 2,
    rx_dropped: 0,
    rx_errors: 0,
    rx_packets: uptime * Math.ceil(bytesPerS / 400),
    tx_bytes: uptime * bytesPerS,
    tx_dropped: 0,
    tx_errors: 0,
    tx_packets: uptime * Math.ceil(bytesPerS / 600),
  }
}

interface RadioAt {
  readonly radio: SimulatedRadio
  readonly index: number
  readonly uptime: number
}

function radioState(profile: Profile, { radio, index, uptime }: RadioAt): Params {
  const { band, channel, frequency, width, power, noise, busy } = radio
  const time = uptime * 1000
  // The integral of a share that varies like a wave, so that it never goes back.
  const busyMs = Math.floor(time * busy + 20_000 * busy * wave(profile, uptime / 10 + index))
  return {
    channel,
    channels: [channel],
    frequency: [frequency],
    channel_width: width,
    tx_power: power,
    phy: `platform/soc/wifi${index}`,
    band: [band],
    temperature: 50 + index,
    survey: [
      {
        frequency,
        noise,
        time,
        busy: Math.min(time, busyMs),
        time_rx: Math.floor(time * busy * 0.6),
        time_tx: Math.floor(time * busy * 0.2),
      },
    ],
  }
}

interface CellAt extends RadioAt {
  readonly ssid: string
  readonly cell: number
}

function cellState(profile: Profile, { radio, index, uptime, ssid, cell }: CellAt): Params {
  const bssid = localMac(profile, 16 * (index + 1) + cell)
  const count = Math.floor(wave(profile, uptime / 20 + index) * 3) + (cell === 0 ? 1 : 0)
  return {
    radio: { $ref: `#/radios/${index}` },
    phy: `platform/soc/wifi${index}`,
    band: radio.band,
    location: `/interfaces/0/ssids/${cell}`,
    ssid,
    mode: 'ap',
    bssid,
    iface: `wlan${index}-${cell}`,
    frequency: [radio.frequency],
    counters: countersAt(uptime, 1500),
    associations: Array.from({ length: count }, (_, client) =>
      stationState(profile, { bssid, radio, uptime, client, cell }),
    ),
  }
}

interface StationAt {
  readonly bssid: string
  readonly radio: SimulatedRadio
  readonly uptime: number
  readonly client: number
  readonly cell: number
}

function stationState(profile: Profile, { bssid, radio, uptime, client, cell }: StationAt): Params {
  const place = 256 + radio.channel * 16 + cell * 8 + client
  const he = radio.band === '2G' ? { ht: true } : { he: true }
  return {
    bssid,
    station: localMac(profile, place),
    connected: uptime,
    inactive: 1,
    rssi: -45 - 6 * client - traitOf(profile, 12, client),
    rx_bytes: uptime * 300 * (client + 1),
    tx_bytes: uptime * 900 * (client + 1),
    rx_packets: uptime * (client + 1),
    tx_packets: uptime * 2 * (client + 1),
    tx_retries: uptime,
    tx_failed: 0,
    rx_rate: { bitrate: radio.width * 3000, mcs: 7, nss: 2, chwidth: radio.width, ...he },
    tx_rate: { bitrate: radio.width * 4000, mcs: 9, nss: 2, chwidth: radio.width, ...he },
    ipaddr_v4: `10.21.${traitOf(profile, 250)}.${1 + (place % 250)}`,
  }
}

/** Eight access points each hang on the same switch. */
function uplinkPeer(profile: Profile): Params {
  const number = Number.parseInt(profile.mac.slice(6), 16)
  return {
    mac: `00:00:5e:00:53:${(Math.floor(number / 8) % 256).toString(16).padStart(2, '0')}`,
    name: `floor-switch-${Math.floor(number / 8) % 1000}`,
    description: 'Simulated floor switch',
    port_id: `ge-0/0/${number % 8}`,
    port_descr: `access point ${number % 8}`,
    management_ips: [`10.20.255.${Math.floor(number / 8) % 250}`],
    capability: ['Bridge', 'Router'],
  }
}
