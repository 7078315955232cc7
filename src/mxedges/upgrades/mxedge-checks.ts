import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { epochS } from '../../platform/time/clock.ts'
import { ofAppliances } from '../../rollout/gates/decide-hold.ts'
import type { CheckedUpgrades } from '../../rollout/gates/checked-upgrades.ts'
import { appendHeld, appendMxedgeUpgradeChange } from './append-change.ts'
import { mxedgeRows } from './store-checks.ts'
import { insertApproval, pauseUpgrade, resumeUpgrade } from './store-records.ts'

/** The checks of upgrades of edge appliances. Their rounds end the waits for a time. */
export const mxedgeUpgradeChecks: CheckedUpgrades = {
  rows: mxedgeRows,
  units: ofAppliances.units,
  replaceHold: (tx, _scope, check, hold) => pauseUpgrade(tx, check, hold),
  async appendHeld(tx, scope, check, { hold, now: at }) {
    await appendHeld(tx, scope, { id: check.id, siteId: check.siteId, hold, at })
  },
  async open(tx, scope, { check, note, now: at, nowMs }) {
    const { id, siteId, phase } = check
    await insertApproval(tx, check, { phase, by: 'check', name: 'check', admin_id: null, note, at_s: epochS(at) })
    await resumeUpgrade(tx, check, nowMs)
    await appendMxedgeUpgradeChange(tx, scope, {
      ...{ id, siteId, type: 'UPGRADE_CHECK_PASSED', at, after: { phase, ...(note !== null && { note }) } },
      message: `The check of phase ${phase} of upgrade ${id} of edge appliances passed`,
    })
    wakeAfterCommit(tx, 'mxedges')
  },
}
