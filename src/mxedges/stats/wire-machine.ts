import { type Static, Type } from 'typebox'
import { Timestamp } from '../../http/schemas.ts'
import type { InterfaceStat, MachineStats, OwnStats } from '../sessions/machine.ts'

const Count = Type.Integer({ minimum: 0 })
const Share = Type.Number({ description: 'percent of the time since the report before' })
const Bytes = Type.Optional(Type.Integer({ description: 'bytes' }))

const Whole = Type.Integer({ description: 'percent of the time since the report before' })

export const cpuFields = {
  user: Type.Optional(Whole),
  system: Type.Optional(Whole),
  interrupt: Type.Optional(Whole),
  cpus: Type.Optional(
    Type.Record(Type.String(), Type.Object({ user: Share, system: Share, interrupt: Share, idle: Share }), {
      description: 'by the name of the processor, such as `cpu0`',
    }),
  ),
}

/** The contract has whole numbers for all processors together. */
export function presentCpu({ cpu }: Pick<MachineStats, 'cpu'>) {
  if (cpu === undefined) return {}
  const { user, system, interrupt, cpus } = cpu
  return { user: Math.round(user), system: Math.round(system), interrupt: Math.round(interrupt), cpus }
}

export const memoryFields = {
  available: Bytes,
  buffers: Bytes,
  cached: Bytes,
  active: Bytes,
  inactive: Bytes,
  swap_cached: Bytes,
  swap_free: Bytes,
  swap_total: Bytes,
}

const byInterface = { description: 'by the name of the interface' }

const PortStat = Type.Object({
  up: Type.Boolean(),
  state: Type.Optional(Type.String()),
  mac: Type.Optional(Type.String()),
  speed: Type.Optional(Type.Integer({ description: 'Mbit/s' })),
  full_duplex: Type.Optional(Type.Boolean()),
  rx_bytes: Type.Optional(Count),
  rx_pkts: Type.Optional(Count),
  rx_errors: Type.Optional(Count),
  tx_bytes: Type.Optional(Count),
  tx_pkts: Type.Optional(Count),
  tx_errors: Type.Optional(Count),
})

const Address = Type.Optional(Type.String())

/** Parts of the statistics that an agent may not be able to provide. Source: contract, `stats_mxedge`. */
export const machineFields = {
  ip_stat: Type.Optional(
    Type.Object({
      ip: Address,
      netmask: Address,
      ip6: Address,
      netmask6: Address,
      ips: Type.Optional(Type.Record(Type.String(), Type.String(), byInterface)),
      macs: Type.Optional(Type.Record(Type.String(), Type.String(), byInterface)),
    }),
  ),
  port_stat: Type.Optional(Type.Record(Type.String(), PortStat, byInterface)),
  lag_stat: Type.Optional(
    Type.Record(Type.String(), Type.Object({ active_ports: Type.Array(Type.String()) }), {
      description: 'by the name of the LAG',
    }),
  ),
  virtualization_type: Type.Optional(Type.String()),
  num_tunnels: Type.Optional(Count),
  tunterm_stat: Type.Optional(Type.Object({ monitoring_failed: Type.Optional(Type.Boolean()) })),
  oob_ip_stat: Type.Optional(
    Type.Object({
      type: Type.Optional(Type.Enum(['dhcp', 'disabled', 'static'])),
      ip: Address,
      netmask: Address,
      gateway: Address,
      ip6: Address,
      netmask6: Address,
      gateway6: Address,
      type8: Type.Optional(Type.Enum(['autoconf', 'dhcp', 'disabled', 'static'], { description: 'that of IPv6' })),
      dns: Type.Optional(Type.Array(Type.String())),
    }),
  ),
  idrac_version: Type.Optional(Type.String()),
  fwupdate: Type.Optional(
    Type.Object(
      {
        status: Type.Enum(['inprogress', 'failed', 'upgraded', 'success', 'scheduled', 'error']),
        status_id: Type.Integer({ description: 'differs after each change' }),
        progress: Type.Integer({ minimum: 0, maximum: 100, description: '70: downloaded; 100: done' }),
        will_retry: Type.Boolean({ description: 'an attempt has failed, and another one follows' }),
        timestamp: Timestamp,
      },
      {
        description:
          'of the newest upgrade that did not skip the appliance; absent without one, and where it was cancelled',
      },
    ),
  ),
}

type MachineReply = Partial<Static<typeof machineReply>>
const machineReply = Type.Object(machineFields)

/** @param first The address that the agent names first. */
export function presentMachine(machine: MachineStats | undefined, first: string | undefined): MachineReply {
  const { interfaces = {}, lags, virtualization, own = {} } = machine ?? {}
  const named = Object.entries(interfaces)
  const ipStat = presentAddresses(named, first)
  return {
    ...(Object.keys(ipStat).length > 0 && { ip_stat: ipStat }),
    ...(named.length > 0 && { port_stat: Object.fromEntries(named.map(([name, port]) => [name, presentPort(port)])) }),
    ...(lags !== undefined && {
      lag_stat: Object.fromEntries(Object.entries(lags).map(([name, ports]) => [name, { active_ports: [...ports] }])),
    }),
    ...(virtualization !== undefined && { virtualization_type: virtualization }),
    ...(own.num_tunnels !== undefined && { num_tunnels: own.num_tunnels }),
    ...(own.tunterm !== undefined && { tunterm_stat: own.tunterm }),
    ...(own.oob_ip !== undefined && { oob_ip_stat: presentOobIp(own.oob_ip) }),
    ...(own.idrac_version !== undefined && { idrac_version: own.idrac_version }),
  }
}

/** Each interface has one address here, of each family. */
function presentAddresses(named: readonly (readonly [string, InterfaceStat])[], first: string | undefined) {
  const main = named.find(([, { ip }]) => ip === first)?.[1]
  const six = main?.ip6 === undefined ? named.find(([, { ip6 }]) => ip6 !== undefined)?.[1] : main
  const ips = named.flatMap(([name, { ip }]) => (ip === undefined ? [] : [[name, ip] as const]))
  const macs = named.flatMap(([name, { mac }]) => (mac === undefined ? [] : [[name, mac] as const]))
  return {
    ...(first !== undefined && { ip: first }),
    ...(main?.netmask !== undefined && { netmask: main.netmask }),
    ...(six?.ip6 !== undefined && { ip6: six.ip6 }),
    ...(six?.netmask6 !== undefined && { netmask6: six.netmask6 }),
    ...(ips.length > 0 && { ips: Object.fromEntries(ips) }),
    ...(macs.length > 0 && { macs: Object.fromEntries(macs) }),
  }
}

function presentOobIp({ type6, ...stat }: NonNullable<OwnStats['oob_ip']>) {
  return type6 === undefined ? stat : { ...stat, type8: type6 }
}

function presentPort({ ip: _ip, netmask: _mask, ip6: _ip6, netmask6: _mask6, ...port }: InterfaceStat) {
  return port
}
