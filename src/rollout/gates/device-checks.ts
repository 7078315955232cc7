import type { OrgScope } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { epochS } from '../../platform/time/clock.ts'
import { appendUpgradeChange } from '../events/append-events.ts'
import { noteUpgrades } from '../events/note-upgrades.ts'
import { presentPhase } from '../phases/present-phase.ts'
import { insertApproval } from '../phases/store.ts'
import type { CheckedUpgrades, OpenedGate } from './checked-upgrades.ts'
import { wordsOf } from './decide-hold.ts'
import { appendHeld } from './hold-upgrade.ts'
import { deviceRows, endHold, replaceHold } from './store-checks.ts'
import { releaseGates, resumeSiteUpgrades } from './store-hold.ts'

/** What opens a gate without a person. */
const openings = {
  check: { type: 'UPGRADE_CHECK_PASSED', message: (phase: string) => `The check of ${phase} passed` },
  time: { type: 'UPGRADE_WAIT_ENDED', message: (phase: string) => `The wait after ${phase} ended` },
} as const

/** The checks of upgrades of devices, and the ends of their waits for a time. */
export const deviceUpgradeChecks: CheckedUpgrades = {
  rows: deviceRows,
  units: wordsOf(undefined).units,
  async replaceHold(tx, scope, { id }, hold) {
    await replaceHold(tx, scope, id, hold)
    noteUpgrades(tx, scope, [{ orgUpgradeId: id, id: null }])
  },
  appendHeld: (tx, scope, { id, phase }, held) => appendHeld(tx, scope, id, { ...held, phase }),
  async open(tx, scope, opened) {
    await passGate(tx, scope, { ...opened, by: 'check' })
    await appendOpening(tx, scope, { ...opened, by: 'check' })
  },
  async endWait(tx, scope, opened) {
    const { id, waitFor } = opened.check
    if (waitFor === 'time') await passGate(tx, scope, { ...opened, by: 'time' })
    else {
      // The gate has a further condition: it is evaluated again, now that its instant is over.
      await endHold(tx, scope, id)
      await releaseGates(tx, scope, id, opened.nowMs)
    }
    await appendOpening(tx, scope, { ...opened, by: 'time' })
  },
}

interface Opening extends OpenedGate {
  readonly by: keyof typeof openings
}

async function passGate(tx: Tx, scope: OrgScope, { check, by, note, now, nowMs }: Opening): Promise<void> {
  const { id, phase, of } = check
  const opening = { phase, ...(of !== null && { of }), by, name: by, admin_id: null, note, at_s: epochS(now) }
  await insertApproval(tx, scope, id, opening)
  await resumeSiteUpgrades(tx, scope, id, nowMs)
}

async function appendOpening(tx: Tx, scope: OrgScope, { check, by, note, now }: Opening): Promise<void> {
  const { id, phase, of } = check
  const { type, message } = openings[by]
  const opened = {
    type,
    upgrade_id: id,
    ...presentPhase({ phase, of: of ?? undefined }),
    ...(note !== null && { note }),
  } as const
  const words = `${wordsOf(of ?? undefined).phase} ${phase} of upgrade ${id}`
  await appendUpgradeChange(tx, scope, { ...opened, message: message(words) }, now)
  wakeAfterCommit(tx, 'rollouts')
}
