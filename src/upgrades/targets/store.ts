import { type RawBuilder, sql } from 'kysely'
import type { PlaceScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { CommandKind, CommandState } from '../../devices/tables.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { allHold, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { Reader } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import type { DeviceHealth } from '../../rollout/targets/target.ts'
import { type TargetState, type UpgradeHop, type UpgradeKind, isTerminal } from '../../rollout/rollout.ts'
import { type TimelineStep, decodeTimeline } from '../../rollout/targets/timeline.ts'
import { buckets } from '../buckets.ts'
import { getOrgUpgradeId } from '../site/store.ts'
import { shownReason } from '../store-reasons.ts'
import { isRestored, restoreReason } from '../store-restores.ts'
import type { upgradeTargetFilters } from './filters.ts'
import { type TargetEvent, findEndOfEvents, listTargetEvents } from './store-events.ts'

export interface UpgradeTarget {
  readonly deviceId: string
  readonly mac: string
  /** Null also for a device that has left the organization or, at a site, the site. */
  readonly name: string | null
  readonly model: string
  readonly siteId: string
  /** The id of the site upgrade. */
  readonly upgradeId: string
  /** From 1; 0: skipped when planning, taken over by another upgrade or excluded. */
  readonly phase: number
  /** Null: it downloads in the phase of its reboot. */
  readonly downloadPhase: number | null
  readonly state: TargetState
  readonly reason: string | null
  /** Why its backup version was restored; null: that was not tried, or has not ended. */
  readonly restoreReason: string | null
  readonly fromVersion: string | null
  readonly targetVersion: string
  /** The versions that it installs in turn; null: it gets `targetVersion` directly. */
  readonly path: readonly UpgradeHop[] | null
  readonly attempt: number
  readonly run: number
  readonly enteredAt: Date
}

interface UpgradeOfKind {
  readonly id: string
  /** Default `device`. */
  readonly kind?: UpgradeKind
}

/** Returns the organization upgrade that the id names. @throws AppError not_found, also for one of another kind. */
async function getNamed(
  reader: Reader,
  scope: PlaceScope,
  { id: named, kind = 'device' }: UpgradeOfKind,
): Promise<{ readonly id: string; readonly createdAt: Date }> {
  const id = await getOrgUpgradeId(reader, scope, { id: named, kind })
  const row = await reader
    .selectFrom('orgUpgrade')
    .select(['id', 'createdAt'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('kind', '=', kind)
    .executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

function selectTargets(reader: Reader, scope: PlaceScope, id: string) {
  return reader
    .selectFrom('upgradeTarget as target')
    .innerJoin('siteUpgrade as part', (join) =>
      join.onRef('part.orgId', '=', 'target.orgId').onRef('part.id', '=', 'target.upgradeId'),
    )
    .leftJoin('device', (join) =>
      join
        .onRef('device.orgId', '=', 'target.orgId')
        .onRef('device.id', '=', 'target.deviceId')
        .on(inSites(scope, sql.ref('device.site_id'))),
    )
    .select([
      'target.deviceId',
      'target.mac',
      'device.name',
      'target.model',
      'part.siteId',
      'target.upgradeId',
      'target.phase',
    ])
    .select(['target.downloadPhase', 'target.path'])
    .select(['target.state', shownReason.as('reason'), 'target.fromVersion', 'target.targetVersion', 'target.attempt'])
    .select(['target.run', 'target.enteredAt', 'target.ordinal', restoreReason.as('restoreReason')])
    .where('target.orgId', '=', scope.orgId)
    .where('part.orgUpgradeId', '=', id)
    .where(inSites(scope, sql.ref('part.site_id')))
}

const bucketOf: RawBuilder<string> = sql`case target.state ${sql.join(
  Object.entries(buckets).flatMap(([name, states]) =>
    states.map((state) => sql`when ${sql.lit(state)} then ${sql.lit(name)}`),
  ),
  sql` `,
)} end`

const columns = { status: column(bucketOf), site_id: column(sql`part.site_id`), reason: column(shownReason) }

/** Lists the devices of an upgrade by site, in the order of the plan; at a site only its own. @throws AppError not_found */
export async function listUpgradeTargets(
  reader: Reader,
  scope: PlaceScope,
  {
    conditions,
    page,
    ...upgrade
  }: UpgradeOfKind & { readonly conditions: Conditions<typeof upgradeTargetFilters>; readonly page: Page },
): Promise<Paged<UpgradeTarget>> {
  const { id } = await getNamed(reader, scope, upgrade)
  const passed = allHold(conditionsOn<typeof upgradeTargetFilters>(columns, conditions))
  const hits = selectTargets(reader, scope, id).where(passed)
  return pageOf<UpgradeTarget>(reader, { hits, order: ['upgrade_id', 'ordinal', 'mac'], sizes: null }, page)
}

/** A run of a target that failed and was retried. */
export interface FailedRun {
  readonly run: number
  readonly reason: string | null
  /** Why its backup version was restored; null: that was not tried. */
  readonly restoreReason: string | null
  readonly fromVersion: string | null
  readonly endedAt: Date
  readonly retriedAt: Date
  readonly retriedBy: string
  readonly downAt: Date | null
  readonly upAt: Date | null
}

/** A command that the upgrade gave the device. */
export interface TargetCommand {
  readonly id: string
  readonly kind: CommandKind
  readonly attempt: number
  readonly state: CommandState
  /** Why it was refused, or its outcome is unknown; null if it was not. */
  readonly reason: string | null
  readonly createdAt: Date
  readonly sentAt: Date | null
  readonly finishedAt: Date | null
}

export interface UpgradeTargetDetail extends UpgradeTarget {
  /** The earlier runs, in order. */
  readonly runs: readonly FailedRun[]
  /** The latest commands, in order. */
  readonly commands: readonly TargetCommand[]
  /** The latest steps, in order, from the plan on. */
  readonly steps: readonly TimelineStep[]
  /** The latest events, in order. */
  readonly events: readonly TargetEvent[]
  readonly downAt: Date | null
  readonly upAt: Date | null
  /** The health of the device before the upgrade; null: health is not compared. */
  readonly baseline: DeviceHealth | null
}

/** A device whose connection keeps breaking gets a command for each attempt. */
const MAX_COMMANDS = 200

/** @throws AppError not_found */
export async function getUpgradeTarget(
  reader: Reader,
  scope: PlaceScope,
  { mac, ...upgrade }: UpgradeOfKind & { readonly mac: string },
): Promise<UpgradeTargetDetail> {
  const { id, createdAt } = await getNamed(reader, scope, upgrade)
  const found = await selectTargets(reader, scope, id)
    .select(['target.timeline', 'target.downAt', 'target.upAt', 'target.baseline'])
    .where('target.mac', '=', mac)
    .executeTakeFirst()
  if (found === undefined) throw notFound(mac)
  const { timeline, ...target } = found
  const { upgradeId, deviceId } = target
  const runs = await reader
    .selectFrom('upgradeTargetRun')
    .select(['run', 'reason', 'fromVersion', 'endedAt', 'retriedAt', 'retriedBy', 'downAt', 'upAt'])
    .where('orgId', '=', scope.orgId)
    .where('upgradeId', '=', upgradeId)
    .where('deviceId', '=', deviceId)
    .orderBy('run')
    .execute()
  const commands = await reader
    .selectFrom('deviceCommand')
    .select(['id', 'kind', 'attempt', 'state', 'createdAt', 'sentAt', 'finishedAt'])
    .select(
      sql<string | null>`case when state = 'done' then null else coalesce(outcome->>'text', outcome->>'why') end`.as(
        'reason',
      ),
    )
    .where('orgId', '=', scope.orgId)
    .where('siteUpgradeId', '=', upgradeId)
    .where('deviceId', '=', deviceId)
    .orderBy('attempt', 'desc')
    .limit(MAX_COMMANDS)
    .execute()
  const history = decodeTimeline(timeline)
  const steps = stepsOf(history, { ...target, createdAt })
  const since = steps[0]?.at ?? createdAt
  const { enteredAt: endedAt } = target
  const end = isTerminal(target.state) ? await findEndOfEvents(reader, scope, { deviceId, upgradeId, endedAt }) : null
  const events = await listTargetEvents(reader, scope, { deviceId, since, end })
  return {
    ...target,
    runs: runs.map((run) => Object.assign({ restoreReason: restoreReasonOf(run, history) }, run)),
    commands: commands.toReversed(),
    steps,
    events,
  }
}

/** The history of a target goes through all its runs, and loses its oldest steps first. */
function restoreReasonOf(
  { reason, endedAt }: Pick<FailedRun, 'reason' | 'endedAt'>,
  history: readonly TimelineStep[],
): string | null {
  if (!isRestored(reason)) return null
  const begin = history.findLast(
    ({ state, at, reason: why }) => state === 'rolling_back' && why !== null && at <= endedAt,
  )
  return begin?.reason ?? null
}

/** Adds the initial state of a target, unless its steps begin with it, as those of a device that joined later do. */
function stepsOf(
  steps: readonly TimelineStep[],
  { state, createdAt, enteredAt }: { readonly state: TargetState; readonly createdAt: Date; readonly enteredAt: Date },
): readonly TimelineStep[] {
  const [first] = steps
  if (first?.state === 'planned') return steps
  // One that was awaited is skipped later than its upgrade is planned.
  if (first === undefined && state === 'skipped') return [{ state, at: enteredAt, reason: null }]
  return [{ state: 'planned', at: createdAt, reason: null }, ...steps]
}
