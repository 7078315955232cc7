import { type Static, Type } from 'typebox'
import { type Conditions, filterQuery, parseFilters } from '../../http/lists/filters.ts'
import { pageQuery } from '../../http/lists/lists.ts'
import { NO_ID, Timestamp, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { DeviceCapabilities, VcMember } from '../tables.ts'
import { orgStatsFilters, siteStatsFilters } from '../filters.ts'
import { presentApReport, presentWiredReport } from '../telemetry/wire-report.ts'
import { identityFields, presentIdentity } from '../wire.ts'
import type { DeviceStats } from './store.ts'

export const SiteStatsQuery = Type.Object({ ...pageQuery, ...filterQuery(siteStatsFilters) })
export const OrgStatsQuery = Type.Object({ ...pageQuery, ...filterQuery(orgStatsFilters) })

/** @throws AppError invalid naming the field. */
export function parseStats(query: Static<typeof OrgStatsQuery>): Conditions<typeof orgStatsFilters> {
  return parseFilters(orgStatsFilters, { type: 'ap', ...query })
}

/** Ours. */
const CapabilitiesReply = named(
  'DeviceCapabilities',
  Type.Object({
    commands: Type.Array(Type.String(), { description: 'the commands that the device supports' }),
    restart_members: Type.Optional(
      Type.Array(Type.Integer(), {
        description:
          'members of a Virtual Chassis that can be restarted alone; absent if the device does not list them',
      }),
    ),
    restart_nodes: Type.Array(Type.Enum(['node0', 'node1']), {
      description: 'nodes of a cluster that can be restarted alone',
    }),
    backup_version: Type.Optional(Type.String({ description: 'the version that a restore returns to' })),
  }),
)

/** Values that a device never reported are left out. Source: contract, `stats_ap`, `stats_switch`, `stats_gateway`. */
export const StatsReply = named(
  'DeviceStats',
  Type.Object(
    {
      ...identityFields,
      status: Type.Enum(['connected', 'disconnected']),
      version: Type.Optional(Type.String()),
      uptime: Type.Optional(Type.Integer({ description: 'seconds; only while it is connected' })),
      last_seen: Type.Optional(Timestamp),
      ip: Type.Optional(Type.String()),
      ext_ip: Type.Optional(Type.String()),
      capabilities: Type.Optional(CapabilitiesReply),
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

export function presentStats(stats: DeviceStats, now: Date): Static<typeof StatsReply> {
  const { type, firmware, lastSeenAt, extIp, members, fwupdate } = stats
  const connected = stats.connected === true
  return {
    ...presentIdentity(stats),
    status: connected ? 'connected' : 'disconnected',
    ...(firmware !== null && { version: firmware }),
    ...(connected && stats.bootedAt !== null && { uptime: uptimeS(stats.bootedAt, now) }),
    ...(lastSeenAt !== null && { last_seen: epochS(lastSeenAt) }),
    ...(extIp !== null && { ext_ip: extIp }),
    ...keptOf(stats.doc),
    ...presentReport(stats),
    ...presentLoad(stats),
    ...(members !== null && members.length > 0 && presentMembers(stats, members)),
    ...(fwupdate !== null && { fwupdate }),
    ...(stats.capabilities !== null && { capabilities: presentCapabilities(stats.capabilities) }),
    ...(type !== 'ap' && presentConfig(stats)),
    created_time: epochS(stats.createdAt),
    modified_time: epochS(stats.modifiedAt),
  }
}

function presentCapabilities(capabilities: DeviceCapabilities): Static<typeof CapabilitiesReply> {
  const { commands, restart_members: members, restart_nodes: nodes, backup_version: backup } = capabilities
  return {
    commands: [...commands],
    ...(members !== 'any' && { restart_members: [...members] }),
    restart_nodes: [...nodes],
    ...(backup !== undefined && { backup_version: backup }),
  }
}

/** Fields of a device's document that clients also read here. Source: contract, `stats_ap`. */
const kept = [
  'notes',
  'map_id',
  'x',
  'y',
  'height',
  'orientation',
  'deviceprofile_id',
  'locked',
  'mount',
  'led',
  'role',
]

function keptOf(doc: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(kept.filter((name) => name in doc).map((name) => [name, doc[name]]))
}

/** At least one second: clients take 0 for "unknown". */
function uptimeS(bootedAt: Date, now: Date): number {
  return Math.max(1, Math.floor((now.getTime() - bootedAt.getTime()) / 1000))
}

/** The last report is shown whether or not the device is still connected; the time of `last_seen` is its age. */
function presentReport({ report, reportedAt, bootedAt, connected, type, ...stats }: DeviceStats): object {
  if (report === null || reportedAt === null) return {}
  const device = { ...stats, report, isLive: connected === true && (bootedAt === null || reportedAt >= bootedAt) }
  return type === 'ap' ? presentApReport(device) : presentWiredReport(device)
}

/** Access points and other devices name the same values differently. Memory arrives in bytes. */
function presentLoad({ type, load, report }: DeviceStats): Record<string, unknown> {
  const cpu = numberIn(load, 'cpu_percent')
  const total = numberIn(load, 'memory_total')
  const free = numberIn(load, 'memory_free')
  const ip = load?.['ip']
  const used = total === null || free === null ? null : total - free
  const address = typeof ip === 'string' && { ip }
  if (type === 'ap')
    return {
      ...address,
      ...(cpu !== null && { cpu_util: Math.round(cpu) }),
      ...(total !== null && { mem_total_kb: Math.round(total / 1024) }),
      ...(used !== null && { mem_used_kb: Math.round(used / 1024) }),
    }
  return {
    ...address,
    ...presentCpu(cpu, report),
    ...(used !== null && total !== null && total > 0 && { memory_stat: { usage: Math.round((used / total) * 100) } }),
  }
}

function presentCpu(cpu: number | null, report: DeviceStats['report']): Record<string, unknown> {
  const average = report?.unit.load_avg
  if (cpu === null && average === undefined) return {}
  const idle = cpu !== null && { idle: 100 - Math.round(cpu) }
  return { cpu_stat: { ...idle, ...(average !== undefined && { load_avg: average }) } }
}

/**
 * Clients can't decode statistics of switches and gateways without these fields. There are no tags, and devices don't
 * report when they applied their configuration: zeros mean "none". Source: contract, `stats_switch`, `stats_gateway`.
 */
function presentConfig({ load }: DeviceStats) {
  return {
    config_version: numberIn(load, 'config_version') ?? 0,
    config_timestamp: 0,
    tag_id: 0,
    tag_uuid: NO_ID,
  }
}

function numberIn(load: Readonly<Record<string, unknown>> | null, name: string): number | null {
  const value = load?.[name]
  return typeof value === 'number' ? value : null
}

/** The second node of a cluster has a field of its own. Source: contract, `stats_gateway`. */
function presentMembers(
  { type, mac: vcMac }: Pick<DeviceStats, 'type' | 'mac'>,
  members: readonly VcMember[],
): Record<string, unknown> {
  const modules = members.map(({ member, mac, serial, model, firmware }) => ({
    fpc_idx: member,
    ...(mac !== '' && { mac }),
    serial,
    model,
    version: firmware,
  }))
  const nodes = type === 'gateway' ? 1 : modules.length
  return {
    module_stat: modules.slice(0, nodes),
    ...(modules.length > nodes && { module2_stat: modules.slice(nodes) }),
    ...(members.length > 1 && { vc_mac: vcMac }),
    fw_versions_outofsync: new Set(members.map(({ firmware }) => firmware)).size > 1,
  }
}
