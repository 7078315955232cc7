import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Tx, json } from '../../platform/database/db.ts'
import type { UpgradeHold } from '../rollout.ts'

/**
 * Pauses the organization upgrade and its unfinished site upgrades, except those that wait for a person already. A check
 * or a time may end its wait at any time, so a pause takes its place. The caller has locked the organization upgrade.
 * @returns The number of site upgrades paused.
 */
export function pauseSiteUpgrades(tx: Tx, scope: InOrg, orgUpgradeId: string, hold: UpgradeHold): Promise<number> {
  return setHolds(tx, scope, orgUpgradeId, { hold: json(hold), dueMs: hold.since_ms, where: waitsForNobody })
}

/**
 * Pauses them for a person, except those that a person has paused. The pause takes the place of a gate at which they
 * wait: that gate is evaluated again after the pause. The caller has locked the organization upgrade.
 * @returns The number of site upgrades paused.
 */
export function pauseForPerson(
  tx: Tx,
  scope: InOrg,
  orgUpgradeId: string,
  hold: UpgradeHold & { readonly by: 'user' },
): Promise<number> {
  // The wait for absent devices is extended by both pauses.
  const pause = sql<string>`case when hold is null then ${json(hold)}::jsonb else ${json(hold)}::jsonb || jsonb_build_object(
    'reason', ${hold.reason}::text || ' (before: ' || (hold->>'reason') || ')', 'since_ms', hold->'since_ms') end`
  const where = sql<boolean>`hold->>'by' is distinct from 'user'`
  return setHolds(tx, scope, orgUpgradeId, { hold: pause, dueMs: hold.since_ms, where })
}

/** @returns The number of changed site upgrades. */
async function setHolds(
  tx: Tx,
  scope: InOrg,
  orgUpgradeId: string,
  {
    hold,
    dueMs,
    where,
  }: {
    readonly hold: string | RawBuilder<string>
    readonly dueMs: number
    readonly where: RawBuilder<boolean>
  },
): Promise<number> {
  const result = await tx
    .updateTable('siteUpgrade')
    .set({ hold, dueMs })
    .where('orgId', '=', scope.orgId)
    .where('orgUpgradeId', '=', orgUpgradeId)
    .where('finishedAt', 'is', null)
    .where('stopping', 'is', null)
    .where(where)
    .executeTakeFirst()
  const changed = Number(result.numUpdatedRows)
  // One that has ended must not wait: a retry would continue with the pause.
  if (changed === 0) return 0
  await tx
    .updateTable('orgUpgrade')
    .set({ hold })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', orgUpgradeId)
    .where('stopping', 'is', null)
    .where(where)
    .execute()
  return changed
}

/**
 * Resumes the organization upgrade and its site upgrades; the gate at which one was paused is not evaluated again, and
 * the wait for absent devices is extended by the pause. The caller has locked the organization upgrade.
 * @returns The number of site upgrades resumed.
 */
export async function resumeSiteUpgrades(tx: Tx, scope: InOrg, orgUpgradeId: string, nowMs: number): Promise<number> {
  const { phaseOpenedMs, ...resumed } = resumedAt(nowMs)
  await tx
    .updateTable('orgUpgrade')
    .set({ ...resumed, downloads: downloadsResumed })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', orgUpgradeId)
    .where('hold', 'is not', null)
    .execute()
  const result = await tx
    .updateTable('siteUpgrade')
    .set({ ...resumed, downloads: downloadsResumed, phaseOpenedMs, dueMs: nowMs })
    .where('orgId', '=', scope.orgId)
    .where('orgUpgradeId', '=', orgUpgradeId)
    .where('finishedAt', 'is', null)
    .where('hold', 'is not', null)
    .executeTakeFirst()
  return Number(result.numUpdatedRows)
}

/**
 * Ends the pauses of site upgrades at a gate of the whole upgrade, which is evaluated again. The caller has locked the
 * organization upgrade, and ends its own pause.
 */
export async function releaseGates(tx: Tx, scope: InOrg, orgUpgradeId: string, nowMs: number): Promise<void> {
  await tx
    .updateTable('siteUpgrade')
    .set({ hold: null, dueMs: nowMs, phaseOpenedMs: openedAfterPause(nowMs) })
    .where('orgId', '=', scope.orgId)
    .where('orgUpgradeId', '=', orgUpgradeId)
    .where('finishedAt', 'is', null)
    .where(sql<boolean>`hold->>'by' <> 'user'`)
    .execute()
}

const waitsForNobody = sql<boolean>`(hold is null or hold->>'by' in ('check', 'time'))`

const downloadsResumed = sql<null>`case when hold->>'by' in ('gate', 'check', 'time') and hold->>'of' = 'downloads'
  then jsonb_set(downloads, '{gate_passed}', downloads->'current') else downloads end`

/**
 * The columns of an upgrade whose pause ends: its gate is not evaluated again, and the wait for absent devices is
 * extended.
 */
export function resumedAt(nowMs: number) {
  return {
    hold: null,
    gatePassed: sql<number>`case when hold->>'by' in ('gate', 'check', 'time') and hold->>'of' is null
      then current_phase else gate_passed end`,
    phaseOpenedMs: openedAfterPause(nowMs),
  }
}

function openedAfterPause(nowMs: number) {
  return sql<number | null>`phase_opened_ms
    + (${nowMs}::float8 - greatest(phase_opened_ms, (hold->>'since_ms')::float8))`
}
