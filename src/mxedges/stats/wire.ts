import { type Static, Type } from 'typebox'
import type { FwUpdate } from '../../devices/tables.ts'
import { pageQuery } from '../../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { omitSecrets } from '../../orgs/secrets/secrets.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Mxedge } from '../mxedge.ts'
import type { MxedgeReport, MxedgeService } from '../sessions/facts.ts'
import type { MxedgeSession } from '../sessions/store.ts'
import { ForSite, presentOwn } from '../wire.ts'
import { configuredFields, withoutNulls } from './wire-configured.ts'
import { cpuFields, machineFields, memoryFields, presentCpu, presentMachine } from './wire-machine.ts'

export const StatsQuery = Type.Object({ ...pageQuery, for_site: Type.Optional(ForSite) })

const Percent = Type.Integer({ description: 'percent' })
const space = {
  total: Type.Integer({ description: 'bytes' }),
  free: Type.Integer({ description: 'bytes' }),
  usage: Percent,
}

/** Values that only an agent reports are absent if none has connected. Source: contract, `stats_mxedge`. */
export const StatsReply = named(
  'MxedgeStats',
  Type.Object(
    {
      id: Uuid,
      org_id: Uuid,
      site_id: Type.Optional(Uuid),
      for_site: Type.Boolean(),
      name: Type.String(),
      model: Type.String(),
      mxcluster_id: Type.Optional(Uuid),
      mac: Type.Optional(Type.String()),
      serial: Type.Optional(Type.String()),
      status: Type.Enum(['connected', 'disconnected']),
      last_seen: Type.Optional(Timestamp),
      uptime: Type.Optional(Type.Integer({ description: 'seconds; absent while it is disconnected' })),
      distro: Type.Optional(Type.String({ description: 'the codename of its Linux distribution' })),
      mxagent_registered: Type.Boolean(),
      tunterm_registered: Type.Boolean(),
      fips_enabled: Type.Optional(Type.Boolean()),
      services: Type.Optional(Type.Array(Type.String())),
      ...machineFields,
      ...configuredFields,
      cpu_stat: Type.Optional(Type.Object({ usage: Percent, idle: Percent, ...cpuFields })),
      memory_stat: Type.Optional(Type.Object({ ...space, ...memoryFields })),
      disk_stat: Type.Optional(Type.Object(space)),
      service_stat: Type.Optional(
        Type.Record(
          Type.String(),
          Type.Object({
            package_version: Type.Optional(Type.String()),
            package_state: Type.Enum(['installed', 'not_installed']),
            running_state: Type.Enum(['failed', 'running', 'stopped']),
            last_seen: Timestamp,
          }),
          { description: 'by the name of the service' },
        ),
      ),
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

/** Parts of the configuration that statistics repeat. */
const configured = ['services', 'oob_ip_config', 'tunterm_ip_config', 'tunterm_port_config']

export interface StatsNow {
  /** The last session of the appliance; undefined if it never had one. */
  readonly session: MxedgeSession | undefined
  /** The progress of its newest upgrade. */
  readonly fwUpdate: FwUpdate | undefined
  readonly now: Date
}

export function presentStats(mxedge: Mxedge, { session, fwUpdate, now }: StatsNow): Static<typeof StatsReply> {
  const doc = omitSecrets(mxedge.doc)
  const set = configured.flatMap((name) => (doc[name] == null ? [] : [[name, withoutNulls(doc[name])] as const]))
  const fips = fipsOf(doc['mxedge_mgmt'])
  const own = presentOwn(mxedge, session)
  return {
    ...Object.fromEntries(set),
    ...own,
    ...(typeof fips === 'boolean' && { fips_enabled: fips }),
    ...(fwUpdate !== undefined && { fwupdate: fwUpdate }),
    ...(session === undefined ? { status: 'disconnected' } : presentSession(own.serial, session, now)),
  }
}

/** The values of the last report remain while the appliance is away, except its uptime. */
function presentSession(label: string | undefined, session: MxedgeSession, now: Date) {
  const { connected, lastSeenAt, facts, report } = session
  const serial = label ?? facts.serial
  return {
    status: connected ? ('connected' as const) : ('disconnected' as const),
    last_seen: epochS(lastSeenAt),
    ...(serial !== null && { serial }),
    ...(facts.distro !== null && { distro: facts.distro }),
    ...(report !== null && presentReport(session, report, now)),
  }
}

function presentReport({ connected, lastSeenAt }: MxedgeSession, report: MxedgeReport, now: Date) {
  const { uptime_s: uptimeS, services, cpu_percent: cpu, memory, disk, addresses, machine } = report
  const [ip] = addresses
  return {
    ...(connected && { uptime: Math.round(uptimeS + Math.max(0, now.getTime() - lastSeenAt.getTime()) / 1000) }),
    ...(cpu !== null && {
      cpu_stat: { ...presentCpu(machine ?? {}), usage: Math.round(cpu), idle: 100 - Math.round(cpu) },
    }),
    ...(memory !== null && {
      memory_stat: { ...machine?.memory, total: memory.total, free: memory.free, usage: usageOf(memory) },
    }),
    ...(disk !== null && { disk_stat: { total: disk.total, free: disk.free, usage: usageOf(disk) } }),
    ...presentMachine(machine, ip),
    service_stat: Object.fromEntries(services.map((service) => [service.name, presentService(service, lastSeenAt)])),
  }
}

/** Percent. */
function usageOf({ total, free }: { readonly total: number; readonly free: number }): number {
  return total <= 0 ? 0 : Math.round(Math.max(0, Math.min(1, (total - free) / total)) * 100)
}

function presentService({ version, state }: MxedgeService, lastSeenAt: Date) {
  return {
    ...(version !== null && { package_version: version }),
    package_state: version === null ? ('not_installed' as const) : ('installed' as const),
    running_state: state,
    last_seen: epochS(lastSeenAt),
  }
}

function fipsOf(management: unknown): unknown {
  return typeof management === 'object' && management !== null ? Reflect.get(management, 'fips_enabled') : undefined
}
