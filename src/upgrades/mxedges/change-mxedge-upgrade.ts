import { type Actor, type PlaceScope, siteIdOf } from '../../access/scope.ts'
import {
  type MxedgeUpgradeChangeType,
  appendMxedgeUpgradeChange,
  endOfSearch,
} from '../../mxedges/upgrades/append-change.ts'
import { findHeldPhase } from '../../mxedges/upgrades/decide-wait.ts'
import {
  type MxedgeUpgrade,
  closeSearch,
  insertApproval,
  lockUpgrade,
  pauseUpgrade,
  resumeUpgrade,
  stopUpgrade,
} from '../../mxedges/upgrades/store-records.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import type { UpgradeHold } from '../../rollout/rollout.ts'
import { refuseUnapproved } from '../changes/refuse-approval.ts'

/**
 * Stops an upgrade. After the commit no appliance is commanded; those in flight finish their step. Of an upgrade
 * that has ended, nothing changes except that it searches for no further appliances.
 * @throws AppError not_found
 */
export function cancelMxedgeUpgrade(ctx: Context, scope: PlaceScope, id: string): Promise<void> {
  return changeUpgrade(ctx, scope, {
    id,
    type: ({ finishedAt }) => (finishedAt === null ? 'UPGRADE_CANCELLED' : 'UPGRADE_SEARCH_CANCELLED'),
    message: ({ finishedAt }) => (finishedAt === null ? messageOf('Cancel', id) : endOfSearch(id)),
    concerns: ({ finishedAt, stopping, includeDueMs }) =>
      stopping === null && (finishedAt === null || includeDueMs !== null),
    change: (tx, upgrade) =>
      upgrade.finishedAt === null
        ? stopUpgrade(tx, upgrade, `cancelled by ${scope.actor.name}`)
        : closeSearch(tx, upgrade),
  })
}

/**
 * Pauses an upgrade until it is resumed or cancelled; appliances in flight finish their step. One that waits at a gate
 * waits there again once it is resumed.
 * @throws AppError not_found
 */
export function pauseMxedgeUpgrade(ctx: Context, scope: PlaceScope, id: string): Promise<void> {
  const hold = {
    by: 'user',
    reason: `paused by ${scope.actor.name}`,
    since_s: epochS(ctx.clock.now()),
    since_ms: ctx.serviceClock.nowMs(),
  } as const
  return changeUpgrade(ctx, scope, {
    id,
    type: () => 'UPGRADE_PAUSED',
    message: () => messageOf('Pause', id),
    concerns: ({ finishedAt, stopping, hold: present }) =>
      finishedAt === null && stopping === null && present?.by !== 'user',
    change: (tx, upgrade) => pauseUpgrade(tx, upgrade, pauseOver(hold, upgrade.hold)),
  })
}

const BEFORE = ' (before: '

/** Returns the pause of an upgrade by a person, with why, and since when, it waits without the pause. */
export function pauseOver(pause: UpgradeHold, wait: UpgradeHold | null): UpgradeHold {
  const [alone = ''] = pause.reason.split(BEFORE)
  if (wait === null) return { ...pause, reason: alone }
  return { ...pause, reason: `${alone}${BEFORE}${wait.reason})`, since_ms: wait.since_ms }
}

/**
 * Resumes an upgrade that a person or a gate has paused; at a gate that is the decision to open the next phase.
 * @throws AppError not_found; invalid for an upgrade that waits for an approval.
 */
export function resumeMxedgeUpgrade(ctx: Context, scope: PlaceScope, id: string): Promise<void> {
  return changeUpgrade(ctx, scope, {
    id,
    type: () => 'UPGRADE_RESUMED',
    message: () => messageOf('Resume', id),
    concerns: ({ finishedAt, hold }) => finishedAt === null && hold !== null,
    change: async (tx, upgrade) => {
      refuseUnapproved(upgrade.hold)
      await recordOpening(tx, upgrade, { actor: scope.actor, at: ctx.clock.now() })
      await resumeUpgrade(tx, upgrade, ctx.serviceClock.nowMs())
    },
  })
}

/** A person who resumes an upgrade at a gate has opened the next phase. */
async function recordOpening(
  tx: Tx,
  upgrade: MxedgeUpgrade,
  { actor: { name, adminId }, at }: { readonly actor: Actor; readonly at: Date },
): Promise<void> {
  const { hold } = upgrade
  if (hold?.by !== 'gate' && hold?.by !== 'time') return
  const early = hold.not_before_s !== undefined && { early: true as const }
  const opening = { ...findHeldPhase(upgrade), by: 'resume', name, admin_id: adminId, note: null, ...early } as const
  await insertApproval(tx, upgrade, { ...opening, at_s: epochS(at) })
}

function messageOf(verb: string, id: string): string {
  return `${verb} upgrade ${id} of edge appliances`
}

interface Change {
  readonly id: string
  /** Of the audit record, about the upgrade as it was. */
  readonly type: (upgrade: MxedgeUpgrade) => MxedgeUpgradeChangeType
  readonly message: (upgrade: MxedgeUpgrade) => string
  /** False: the upgrade is not changed. */
  readonly concerns: (upgrade: MxedgeUpgrade) => boolean
  readonly change: (tx: Tx, upgrade: MxedgeUpgrade) => Promise<void>
}

async function changeUpgrade(
  ctx: Context,
  scope: PlaceScope,
  { id, type, message, concerns, change }: Change,
): Promise<void> {
  await inTx(ctx, async (tx) => {
    const upgrade = await lockUpgrade(tx, scope, id)
    if (!concerns(upgrade)) return
    await change(tx, upgrade)
    const siteId = upgrade.siteId ?? siteIdOf(scope)
    const facts = { id, siteId, type: type(upgrade), message: message(upgrade) }
    await appendMxedgeUpgradeChange(tx, scope, { ...facts, at: ctx.clock.now() })
    wakeAfterCommit(tx, 'mxedges')
  })
}
