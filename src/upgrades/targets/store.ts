import { type RawBuilder, sql } from 'kysely'
import type { OrgScope } from '../../access/scope.ts'
import type { CommandKind, CommandState } from '../../devices/tables.ts'
import type { Conditions } from '../../http/filters.ts'
import type { Page, Paged } from '../../http/lists.ts'
import { allHold, column, conditionsOn } from '../../http/store-filters.ts'
import { pageOf } from '../../http/store-pages.ts'
import type { Reader } from '../../platform/db.ts'
import { notFound } from '../../platform/errors.ts'
import type { TargetState } from '../../rollout/rollout.ts'
import { buckets } from '../buckets.ts'
import type { upgradeTargetFilters } from './filters.ts'

export interface UpgradeTarget {
  readonly deviceId: string
  readonly mac: string
  readonly model: string
  readonly siteId: string
  /** The id of the site upgrade. */
  readonly upgradeId: string
  /** From 1; 0: skipped when planning. */
  readonly phase: number
  readonly state: TargetState
  readonly reason: string | null
  readonly fromVersion: string | null
  readonly targetVersion: string
  readonly attempt: number
  readonly run: number
  readonly enteredAt: Date
}

/** @throws AppError not_found, also for one of another kind. */
async function assertUpgrade(reader: Reader, scope: OrgScope, id: string): Promise<void> {
  const row = await reader
    .selectFrom('orgUpgrade')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('kind', '=', 'device')
    .executeTakeFirst()
  if (row === undefined) throw notFound(id)
}

function selectTargets(reader: Reader, scope: OrgScope, id: string) {
  return reader
    .selectFrom('upgradeTarget as target')
    .innerJoin('siteUpgrade as part', (join) =>
      join.onRef('part.orgId', '=', 'target.orgId').onRef('part.id', '=', 'target.upgradeId'),
    )
    .select(['target.deviceId', 'target.mac', 'target.model', 'part.siteId', 'target.upgradeId', 'target.phase'])
    .select(['target.state', 'target.reason', 'target.fromVersion', 'target.targetVersion', 'target.attempt'])
    .select(['target.run', 'target.enteredAt', 'target.ordinal'])
    .where('target.orgId', '=', scope.orgId)
    .where('part.orgUpgradeId', '=', id)
}

const bucketOf: RawBuilder<string> = sql`case target.state ${sql.join(
  Object.entries(buckets).flatMap(([name, states]) =>
    states.map((state) => sql`when ${sql.lit(state)} then ${sql.lit(name)}`),
  ),
  sql` `,
)} end`

const columns = { status: column(bucketOf), site_id: column(sql`part.site_id`), reason: column(sql`target.reason`) }

/** Lists the devices of an upgrade by site, in the order of the plan. @throws AppError not_found */
export async function listUpgradeTargets(
  reader: Reader,
  scope: OrgScope,
  {
    id,
    conditions,
    page,
  }: { readonly id: string; readonly conditions: Conditions<typeof upgradeTargetFilters>; readonly page: Page },
): Promise<Paged<UpgradeTarget>> {
  await assertUpgrade(reader, scope, id)
  const passed = allHold(conditionsOn<typeof upgradeTargetFilters>(columns, conditions))
  const hits = selectTargets(reader, scope, id).where(passed)
  return pageOf<UpgradeTarget>(reader, { hits, order: ['upgrade_id', 'ordinal', 'mac'], sizes: null }, page)
}

/** A run of a target that failed and was retried. */
export interface FailedRun {
  readonly run: number
  readonly reason: string | null
  readonly fromVersion: string | null
  readonly endedAt: Date
  readonly retriedAt: Date
  readonly retriedBy: string
}

/** A command that the upgrade gave the device. */
export interface TargetCommand {
  readonly id: string
  readonly kind: CommandKind
  readonly attempt: number
  readonly state: CommandState
  /** Why it was refused, or its outcome is unknown; null where it was not. */
  readonly reason: string | null
  readonly createdAt: Date
  readonly sentAt: Date | null
  readonly finishedAt: Date | null
}

export interface UpgradeTargetDetail extends UpgradeTarget {
  /** In order, without the present one. */
  readonly runs: readonly FailedRun[]
  /** In order; the latest of them. */
  readonly commands: readonly TargetCommand[]
}

/** A device whose connection keeps breaking gets a command for each attempt. */
const MAX_COMMANDS = 200

/** @throws AppError not_found */
export async function getUpgradeTarget(
  reader: Reader,
  scope: OrgScope,
  { id, mac }: { readonly id: string; readonly mac: string },
): Promise<UpgradeTargetDetail> {
  await assertUpgrade(reader, scope, id)
  const target = await selectTargets(reader, scope, id).where('target.mac', '=', mac).executeTakeFirst()
  if (target === undefined) throw notFound(mac)
  const { upgradeId, deviceId } = target
  const runs = await reader
    .selectFrom('upgradeTargetRun')
    .select(['run', 'reason', 'fromVersion', 'endedAt', 'retriedAt', 'retriedBy'])
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
  return { ...target, runs, commands: commands.toReversed() }
}
