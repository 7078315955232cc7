import { type Condition, addressOf, countersAt } from './access-point-state.ts'
import type { Profile } from './device.ts'
import { localMac } from '../waves.ts'

type Params = Readonly<Record<string, unknown>>

const UPLINK = 'Ethernet23'
const PORTS = 24
/** Every third port has no link, and every fourth supplies power. */
const hasLink = (port: number): boolean => port === PORTS - 1 || port % 3 !== 2
const supplies = (port: number): boolean => port % 4 === 0 && hasLink(port)

/** The parts of the state that only switches have. An unhealthy one hears no neighbor. Source: ols-ucentral-client, `proto.c`. */
export function switchState(profile: Profile, { uptime, isUnhealthy }: Condition): Params {
  const ports = Array.from({ length: PORTS }, (_, port) => port)
  return {
    interfaces: [
      {
        name: 'Vlan1',
        location: '/SVI/1',
        uptime,
        ipv4: { addresses: [addressOf(profile)] },
        clients: [],
        counters: {},
      },
    ],
    'link-state': { upstream: Object.fromEntries(ports.map((port) => [`Ethernet${port}`, portState(port, uptime)])) },
    'lldp-peers': { upstream: isUnhealthy ? {} : { [UPLINK]: [corePeer(profile)] }, downstream: {} },
    'mac-forwarding-table': {
      overflow: false,
      ...Object.fromEntries(
        ports.filter(hasLink).map((port) => [`Ethernet${port}`, { 1: [localMac(profile, 512 + port)] }]),
      ),
    },
    'default-gateway': [{ metric: 0, 'gw-mac': '00:00:5e:00:53:00', 'out-port': UPLINK, 'gw-ip': '10.20.0.1' }],
  }
}

function portState(port: number, uptime: number): Params {
  const { rx_errors, tx_errors, ...counters } = countersAt(hasLink(port) ? uptime : 0, 4000 + 100 * port)
  return {
    carrier: hasLink(port),
    ...(hasLink(port) && { speed: 1000, duplex: 'full' }),
    // Switches have another name for errors than access points.
    counters: { ...counters, rx_error: rx_errors, tx_error: tx_errors },
    ...(supplies(port) && { poe: { 'output-power': 3000 + 100 * port, status: 'delivering', 'fault-status': 'none' } }),
  }
}

/** The power budget of the unit and the power draw of its ports, in watts. */
export function switchPower(): Params {
  const drawn = Array.from({ length: PORTS }, (_, port) => (supplies(port) ? 3000 + 100 * port : 0))
  return { 'max-power-budget': 370, 'power-consumed': Math.round(drawn.reduce((sum, mw) => sum + mw, 0) / 1000) }
}

function corePeer(profile: Profile): Params {
  return {
    mac: '00:00:5e:00:53:ff',
    name: 'core-1',
    description: 'Simulated core switch',
    port: `xe-0/0/${Number.parseInt(profile.mac.slice(10), 16) % 48}`,
    management_ips: ['10.20.255.254'],
    capability: ['Bridge', 'Router'],
  }
}
