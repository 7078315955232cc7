import { type Static, Type } from 'typebox'
import { Clean, Errors } from 'typebox/value'
import { checkOf } from '../../platform/json/check-of.ts'

/**
 * The agent's report about the machine of an edge appliance. Absent members: the machine does not provide the value.
 */

const Amount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Percent = Type.Number({ minimum: 0, maximum: 100 })
const Word = Type.String({ maxLength: 64 })

/** The maximum number of interfaces, LAGs and processors in a report. */
const MAX_INTERFACES = 32
const MAX_LAGS = 16
const MAX_CPUS = 128

/** Names as Linux has them; they are members of documents. */
const byName = <T extends Parameters<typeof Type.Record>[1]>(schema: T, maxProperties: number) =>
  Type.Record(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:@-]{0,31}$' }), schema, { maxProperties })

/** Percent of the time since the last report. */
const CpuTimes = Type.Object({ user: Percent, system: Percent, interrupt: Percent, idle: Percent })
export type CpuTimes = Static<typeof CpuTimes>

/** Bytes. */
const Memory = Type.Partial(
  Type.Object({
    total: Amount,
    free: Amount,
    available: Amount,
    buffers: Amount,
    cached: Amount,
    active: Amount,
    inactive: Amount,
    swap_cached: Amount,
    swap_free: Amount,
    swap_total: Amount,
  }),
)
export type MemoryStat = Static<typeof Memory>

const Interface = Type.Object({
  up: Type.Boolean(),
  state: Type.Optional(Word),
  mac: Type.Optional(Word),
  ip: Type.Optional(Word),
  netmask: Type.Optional(Word),
  ip6: Type.Optional(Word),
  netmask6: Type.Optional(Word),
  /** Mbit/s. */
  speed: Type.Optional(Amount),
  full_duplex: Type.Optional(Type.Boolean()),
  rx_bytes: Type.Optional(Amount),
  rx_pkts: Type.Optional(Amount),
  rx_errors: Type.Optional(Amount),
  tx_bytes: Type.Optional(Amount),
  tx_pkts: Type.Optional(Amount),
  tx_errors: Type.Optional(Amount),
})
export type InterfaceStat = Static<typeof Interface>

/** The values that only the operator's own command can provide. */
const OwnStats = Type.Object({
  num_tunnels: Type.Optional(Amount),
  tunterm: Type.Optional(Type.Object({ monitoring_failed: Type.Optional(Type.Boolean()) })),
  oob_ip: Type.Optional(
    Type.Object({
      type: Type.Optional(Type.Enum(['dhcp', 'disabled', 'static'])),
      ip: Type.Optional(Word),
      netmask: Type.Optional(Word),
      gateway: Type.Optional(Word),
      ip6: Type.Optional(Word),
      netmask6: Type.Optional(Word),
      gateway6: Type.Optional(Word),
      type6: Type.Optional(Type.Enum(['autoconf', 'dhcp', 'disabled', 'static'])),
      dns: Type.Optional(Type.Array(Word, { maxItems: 8 })),
    }),
  ),
  idrac_version: Type.Optional(Word),
})
export type OwnStats = Static<typeof OwnStats>

export const isOwnStats = checkOf(OwnStats)

/** Describes the fault of a value that is not an OwnStats, and its place. */
export function findWrongStat(value: unknown): string {
  const [error] = Errors(OwnStats, value)
  const place = error?.instancePath.slice(1).replaceAll('/', '.') ?? ''
  return `${place === '' ? 'the whole' : place} ${error?.message ?? 'is unknown'}`
}

export const MachineStats = Type.Object({
  cpu: Type.Optional(Type.Object({ ...CpuTimes.properties, cpus: byName(CpuTimes, MAX_CPUS) })),
  memory: Type.Optional(Memory),
  interfaces: Type.Optional(byName(Interface, MAX_INTERFACES)),
  /** The ports of each LAG that are up. */
  lags: Type.Optional(byName(Type.Array(Word, { maxItems: MAX_INTERFACES }), MAX_LAGS)),
  virtualization: Type.Optional(Word),
  own: Type.Optional(OwnStats),
})
export type MachineStats = Static<typeof MachineStats>

export const machineBounds = { interfaces: MAX_INTERFACES, lags: MAX_LAGS, cpus: MAX_CPUS } as const

/** Returns only the known members: any others are unbounded, and would be stored. */
export function cleanMachine(machine: MachineStats): MachineStats {
  return Clean(MachineStats, structuredClone(machine)) as MachineStats
}
