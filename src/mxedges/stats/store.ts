import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, anyOf, noneOf } from '../../platform/db.ts'
import { epochS } from '../../platform/clock.ts'
import { type MxedgeTargetState, terminalStates } from '../upgrades/upgrade.ts'
import type { MxedgeFwUpdate } from './fwupdate.ts'

/** Lists the progress of the running upgrades that appliances are part of, by the id of the appliance. */
export async function listFwUpdates(
  reader: Reader,
  scope: InOrg,
  ids: readonly string[],
): Promise<Map<string, MxedgeFwUpdate>> {
  const rows = await reader
    .selectFrom('mxedgeUpgradeTarget as target')
    .innerJoin('mxedgeUpgrade as upgrade', (on) =>
      on.onRef('upgrade.orgId', '=', 'target.orgId').onRef('upgrade.id', '=', 'target.upgradeId'),
    )
    .leftJoin('mxedgeCommand as command', (on) =>
      on.onRef('command.orgId', '=', 'target.orgId').onRef('command.id', '=', 'target.commandId'),
    )
    .select(['target.mxedgeId', 'target.state', 'target.attempt', 'upgrade.createdAt', 'command.sentAt'])
    .select(['command.progressedAt', 'command.progress', 'command.state as commandState'])
    .where('target.orgId', '=', scope.orgId)
    .where('target.mxedgeId', '=', anyOf(ids))
    .where(sql<boolean>`target.state <> ${noneOf(terminalStates)}`)
    .execute()
  return new Map(
    rows.map(({ mxedgeId, state, attempt, createdAt, sentAt, progressedAt, progress, commandState }) => {
      const percent = commandState === 'sent' ? progress?.percent : undefined
      const update: MxedgeFwUpdate = {
        status: isScheduled(state) ? 'scheduled' : 'inprogress',
        status_id: attempt,
        ...(percent !== undefined && { progress: percent }),
        will_retry: true,
        timestamp: epochS(progressedAt ?? sentAt ?? createdAt),
      }
      return [mxedgeId, update]
    }),
  )
}

/** The appliance has not begun, or waits for its next attempt. */
function isScheduled(state: MxedgeTargetState): boolean {
  return state === 'planned' || state === 'deferred'
}
