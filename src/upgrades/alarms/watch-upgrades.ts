import type { AlarmType } from '../../events/alarms/alarm-types.ts'
import { type NewAlarm, endAlarms, raiseAlarms, updateAlarmTexts } from '../../events/alarms/store.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import {
  type HeldUpgrade,
  type TroubledUpgrade,
  listFailedUpgrades,
  listHeldAlarms,
  listHeldUpgrades,
} from './store.ts'

const DAY_MS = 24 * 3600e3

/**
 * Raises alarms for upgrades that have failed or are paused until a person decides, and ends the latter once they are
 * not. An upgrade that failed more than a day ago, while no process watched, raises none.
 */
export async function watchUpgrades(ctx: Context): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const failed = await listFailedUpgrades(tx, addMs(at, -DAY_MS))
    const held = await listHeldUpgrades(tx)
    const waiting = held.map(({ reason, by, ...upgrade }) =>
      alarmOf({ ...upgrade, reason: `${reason}; ${waysOut[by]}` }, 'upgrade_held', 'is held'),
    )
    const raised = [...failed.map((upgrade) => alarmOf(upgrade, 'upgrade_failed', 'failed')), ...waiting]
    await raiseAlarms(tx, raised, at)
    // An approval of several, or another name, changes what an upgrade waits for, or how it is called.
    await updateAlarmTexts(tx, waiting)
    const isHeld = new Set(held.map(({ upgradeId }) => upgradeId))
    const over = (await listHeldAlarms(tx)).filter(({ subject }) => !isHeld.has(subject))
    await endAlarms(
      tx,
      over.map(({ orgId, subject }) => ({ orgId, subject, type: 'upgrade_held' as const })),
      at,
    )
  })
}

/** The operations that end the pause of an upgrade. */
const waysOut: Readonly<Record<HeldUpgrade['by'], string>> = {
  approval: 'approve or cancel it',
  gate: 'resume it to open the next phase, or cancel it',
}

function alarmOf(
  { kind, name, orgId, siteId, upgradeId, version, reason }: TroubledUpgrade,
  type: AlarmType,
  what: string,
): NewAlarm {
  const upgrade = `The upgrade${name === null ? '' : ` "${name}"`}${kind === 'mxedge' ? ' of edge appliances' : ''}`
  const text = `${upgrade}${version === '' ? '' : ` to ${version}`} ${what}${reason === null ? '' : `: ${reason}`}`
  return { orgId, siteId, type, subject: upgradeId, text, details: { upgrade_id: upgradeId } }
}
