import { type Static, Type } from 'typebox'
import { Uuid, named } from '../../http/schemas.ts'
import { epochS, roundToMs } from '../../platform/time/clock.ts'
import { finalVersionOf } from '../../rollout/targets/hops/hops.ts'
import type { UpgradeHop } from '../../rollout/rollout.ts'
import { bucketOf, buckets } from '../buckets.ts'
import { RestoreReason, Restoring } from '../targets/wire.ts'
import type { Cell } from './encode-report.ts'
import type { ReportRow } from './read-report.ts'
import type { ReportedDevice } from './report.ts'

const Count = Type.Integer()

export const ReportDeviceReply = named(
  'UpgradeReportDevice',
  Type.Object({
    mac: Type.String(),
    name: Type.Optional(Type.String({ description: 'Its present name, if it has one' })),
    site_id: Uuid,
    model: Type.Optional(Type.String()),
    phase: Type.Optional(Count),
    download_phase: Type.Optional(Count),
    status: Type.Enum([...Object.keys(buckets), 'left_out']),
    reason: Type.Optional(Type.String()),
    restoring: Type.Optional(Restoring),
    restore_reason: Type.Optional(RestoreReason),
    from_version: Type.Optional(Type.String()),
    version: Type.Optional(Type.String()),
    path: Type.Optional(
      Type.String({ description: 'The versions that it installed, or was to install, where these are several' }),
    ),
    attempts: Type.Optional(Count),
    run: Type.Optional(Count),
    down_at: Type.Optional(Type.Number({ description: 'When its reboot took it down' })),
    up_at: Type.Optional(Type.Number({ description: 'When it was back; missing: it has not come back' })),
    downtime: Type.Optional(
      Type.Number({
        description: 'In seconds, without the time for which it was up before it was restored for its health',
      }),
    ),
    ended_at: Type.Optional(Type.Number({ description: 'When it had its result' })),
  }),
)

const terminalBuckets: ReadonlySet<string> = new Set(['upgraded', 'failed', 'skipped', 'cancelled'])

export function presentReportDevice(row: ReportRow): Static<typeof ReportDeviceReply> {
  const { mac, name, reason } = row.device
  const place = { mac, ...(name !== null && { name }), site_id: row.site.siteId }
  if (row.kind === 'leftOut') {
    const { model } = row.device
    return { ...place, ...(model !== null && { model }), status: 'left_out', reason: row.device.reason }
  }
  const { model, phase, downloadPhase, state, restoreReason, fromVersion, path, attempt, run } = row.device
  const { enteredAt, downAt, upAt } = row.device
  const status = bucketOf(state)
  return {
    ...place,
    model,
    phase,
    ...(downloadPhase !== null && { download_phase: downloadPhase }),
    status,
    ...(reason !== null && { reason }),
    ...(state === 'rolling_back' && { restoring: true }),
    ...(restoreReason !== null && { restore_reason: restoreReason }),
    ...(fromVersion !== null && { from_version: fromVersion }),
    version: finalVersionOf(row.device),
    ...(path !== null && { path: path.map(({ version }) => version).join(' -> ') }),
    attempts: attempt,
    run,
    ...(downAt !== null && {
      down_at: epochS(downAt),
      downtime: roundToMs(epochS(upAt ?? enteredAt) - epochS(downAt) - timeBetween(row.device) + sumHops(path)),
    }),
    ...(upAt !== null && { up_at: epochS(upAt) }),
    ...(terminalBuckets.has(status) && { ended_at: epochS(enteredAt) }),
  }
}

/** The time for which the device was up before its restore, in seconds. */
function timeBetween({ upAgainAt, downAgainAt }: ReportedDevice): number {
  return upAgainAt === null || downAgainAt === null ? 0 : epochS(downAgainAt) - epochS(upAgainAt)
}

/** The downtime of the device before its last hop, in seconds. */
function sumHops(path: readonly UpgradeHop[] | null): number {
  const spans = path?.flatMap(({ down_ms: down, up_ms: up }) =>
    down === undefined || up === undefined ? [] : up - down,
  )
  return (spans?.reduce((sum, span) => sum + span, 0) ?? 0) / 1000
}

/** Columns of the table of devices. */
export const reportColumns = [
  'mac',
  'name',
  'site_id',
  'site_name',
  'model',
  'phase',
  'download_phase',
  'status',
  'reason',
  'restoring',
  'restore_reason',
  'from_version',
  'version',
  'path',
  'attempts',
  'run',
  'down_at',
  'up_at',
  'downtime',
  'ended_at',
] as const

type ReportLine = Partial<Record<(typeof reportColumns)[number], Cell>>

/** Presents a device as a line of the table, with times in UTC. */
export function presentReportLine(row: ReportRow): ReportLine {
  const { down_at: downAt, up_at: upAt, ended_at: endedAt, ...device } = presentReportDevice(row)
  const { siteName } = row.site
  return {
    ...device,
    ...(siteName !== null && { site_name: siteName }),
    ...(downAt !== undefined && { down_at: timeOf(downAt) }),
    ...(upAt !== undefined && { up_at: timeOf(upAt) }),
    ...(endedAt !== undefined && { ended_at: timeOf(endedAt) }),
  }
}

function timeOf(atS: number): string {
  return new Date(atS * 1000).toISOString()
}
