import { type RawBuilder, sql } from 'kysely'
import type { OrgScope } from '../../access/scope.ts'
import { type Tx, anyOf } from '../../platform/database/db.ts'
import { columnsOf, rowsAs, updateRows } from '../../platform/database/rows.ts'
import { splitRows } from '../../platform/database/split.ts'
import type { SiteUpgradeChange, Now } from '../site-upgrade-now.ts'
import { installingStates } from '../phases/decide-downloads.ts'
import type { TargetState } from '../rollout.ts'
import { versionRun } from '../targets/store-versions.ts'
import { MAX_TIMELINE_CHARACTERS } from '../targets/timeline.ts'

/** The members are the columns, so that no round makes its rows twice. */
export interface TargetChange {
  readonly orgId: string
  readonly upgradeId: string
  readonly deviceId: string
  readonly state: TargetState
  readonly reason: string | null
  readonly attempt: number
  readonly failedAttempts: number
  readonly lostAttempts: number
  readonly retryAtMs: number | null
  readonly staged: boolean
  /**
   * The id of a new command, with which the device's present boot count is recorded, and with the first one its version. Null: no
   * new command.
   */
  readonly commandId: string | null
  /** The line that the timeline gains. */
  readonly timeline: string
  /**
   * The outage. Null: none, or the known one. A second outage, of a device that is restored, prolongs the first: see
   * isSecondOutage.
   */
  readonly downAt: Date | null
  /** Null: the device has not come back. */
  readonly upAt: Date | null
}

const targetColumns = columnsOf('upgradeTarget', {
  orgId: 'uuid',
  upgradeId: 'uuid',
  deviceId: 'uuid',
  state: 'text',
  reason: 'text',
  attempt: 'integer',
  failedAttempts: 'integer',
  lostAttempts: 'integer',
  retryAtMs: 'float8',
  staged: 'boolean',
  commandId: 'uuid',
  timeline: 'text',
  downAt: 'timestamptz',
  upAt: 'timestamptz',
})

export async function updateTargets(
  tx: Tx,
  changes: readonly TargetChange[],
  at: Pick<Now, 'now' | 'nowMs'>,
): Promise<void> {
  for (const part of splitRows(changes)) await updateSomeTargets(tx, part, at)
}

/**
 * The beginning of the outage of a restore: the device may have fallen off once more since, but it was to go down when the restore
 * was requested.
 */
const secondDownAt = sql`least(change.down_at, target.entered_at)`

/**
 * A device that is restored for its health was connected until then. A restore that is requested again prolongs its outage: only
 * the time before the first request lies between two outages.
 */
const isSecondOutage = sql`change.up_at is not null and target.state = 'rolling_back' and target.reason like 'health\\_%'
  and target.up_again_at is null and target.up_at < ${secondDownAt}`

async function updateSomeTargets(
  tx: Tx,
  changes: readonly TargetChange[],
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): Promise<void> {
  await sql`
    update upgrade_target target set
      state = change.state, attempt = change.attempt,
      -- The cause of a restore stands until the restore has ended.
      reason = case when change.state = 'rolling_back' then coalesce(change.reason, target.reason) else change.reason end,
      failed_attempts = change.failed_attempts, lost_attempts = change.lost_attempts, retry_at_ms = change.retry_at_ms,
      fetched = target.fetched or change.state = ${anyOf(installingStates)}, staged = change.staged,
      entered_at = case when change.state <> target.state or change.command_id is not null then ${now}::timestamptz else target.entered_at end,
      entered_ms = case when change.state <> target.state or change.command_id is not null then ${nowMs}::float8 else target.entered_ms end,
      -- What a device runs when it is commanded for the first time, or skipped, may differ from what it ran when it was planned.
      from_version = case when change.state = 'skipped' then target.target_version
        when change.command_id is null or target.command_id is not null then target.from_version
        else coalesce(${versionRun('target', 'status.firmware')}, target.from_version) end,
      boot_count = case when change.command_id is null then target.boot_count else status.boot_count end,
      command_id = coalesce(change.command_id, target.command_id),
      timeline = ${appendedTo(sql`target.timeline`, sql`change.timeline`)},
      down_at = least(target.down_at, change.down_at),
      up_at = case when change.down_at is null then target.up_at else change.up_at end,
      up_again_at = case when ${isSecondOutage} then target.up_at else target.up_again_at end,
      down_again_at = case when ${isSecondOutage} then ${secondDownAt} else target.down_again_at end
    from ${rowsAs('change', targetColumns, changes)}
    left join device_status status on status.org_id = change.org_id
      and status.device_id = case when change.command_id is not null then change.device_id end
    where target.org_id = change.org_id and target.upgrade_id = change.upgrade_id
      and target.device_id = change.device_id
  `.execute(tx)
}

/** The timeline with one more line. See MAX_TIMELINE_CHARACTERS. */
export function appendedTo(timeline: RawBuilder<unknown>, line: RawBuilder<unknown>): RawBuilder<string> {
  return sql`case when length(${timeline}) < ${MAX_TIMELINE_CHARACTERS}::integer then ${timeline}
    else substr(${timeline}, strpos(${timeline}, chr(10)) + 1) end || ${line}`
}

/** The columns of an upgrade, of devices or of edge appliances, that a round changes, with its key. */
export const roundColumns = {
  orgId: 'uuid',
  id: 'uuid',
  status: 'text',
  stopping: 'text',
  stopReason: 'text',
  hold: 'jsonb',
  currentPhase: 'integer',
  phaseOpenedMs: 'float8',
  counts: 'jsonb',
  released: 'integer',
  hardFailures: 'jsonb',
  upgradedByPhase: 'jsonb',
  finishedAt: 'timestamptz',
} as const

const siteUpgradeColumns = columnsOf('siteUpgrade', {
  ...roundColumns,
  downloads: 'jsonb',
  dueMs: 'float8',
  waitsUntil: 'timestamptz',
})

/** Updates the site upgrades and releases their claims. */
export async function updateSiteUpgrades(
  tx: Tx,
  scope: OrgScope,
  changes: readonly { readonly id: string; readonly change: SiteUpgradeChange }[],
): Promise<void> {
  const rows = changes.map(({ id, change }) => ({ ...change, orgId: scope.orgId, id }))
  await updateRows(tx, siteUpgradeColumns, rows, {
    key: ['orgId', 'id'],
    set: sql`lease_until_ms = null`,
  })
}

export async function updateOrgFailures(
  tx: Tx,
  scope: OrgScope,
  orgUpgradeId: string,
  failures: number,
): Promise<void> {
  await tx
    .updateTable('orgUpgrade')
    .set(({ eb }) => ({ hardFailures: eb('hardFailures', '+', failures) }))
    .where('orgId', '=', scope.orgId)
    .where('id', '=', orgUpgradeId)
    .execute()
}

/**
 * Ends the pauses of organization upgrades that have ended at all sites: a person may pause one whose last device has just
 * ended, and one that waits may lose its last devices.
 */
export async function endHolds(tx: Tx, scope: OrgScope, orgUpgradeIds: readonly string[]): Promise<void> {
  await tx
    .updateTable('orgUpgrade')
    .set({ hold: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(orgUpgradeIds))
    .where('hold', 'is not', null)
    .execute()
}
