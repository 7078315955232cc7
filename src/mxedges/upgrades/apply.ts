import { isDeepStrictEqual } from 'node:util'
import { uuidv7 } from '../../platform/uuidv7.ts'
import type { OrgScope } from '../../access/scope.ts'
import { type MxedgeEventInput, appendMxedgeEvents } from '../../events/append-mxedge.ts'
import { earliest } from '../../platform/extremes.ts'
import { addMs } from '../../platform/time/clock.ts'
import { endOf } from '../../rollout/stops/decide-end.ts'
import type { Tx } from '../../platform/database/db.ts'
import type { MxedgeOrder } from '../commands/command.ts'
import { appendHeld, appendMxedgeUpgradeChange } from './append-change.ts'
import { cancelQueuedById } from '../commands/store-cancel.ts'
import { type NewUpgradeCommand, insertUpgradeCommands } from '../commands/store.ts'
import type { MxedgeUpgradeDecision, Now } from './decide-upgrade.ts'
import { type LockedTarget, type LockedUpgrade, updateTargets, updateUpgrades } from './store.ts'
import { installMs, sendBy, windowsFinder } from './decide-window.ts'
import { type MxedgeStep, isInFlight } from './upgrade.ts'

export interface DecidedRound {
  readonly upgrade: LockedUpgrade
  readonly decision: MxedgeUpgradeDecision<LockedTarget>
}

type Step = MxedgeUpgradeDecision<LockedTarget>['steps'][number] & { readonly newCommandId: string | null }

/**
 * Writes the decisions: targets, commands, events and the upgrades themselves, in the caller's transaction, which has
 * the locks that the decisions relied on.
 */
export async function applyRounds(
  tx: Tx,
  scope: OrgScope,
  rounds: readonly DecidedRound[],
  { now, nowMs, options }: Now,
): Promise<void> {
  const steps = rounds
    .flatMap(({ decision }) => decision.steps)
    .map((step): Step => Object.assign(step, { newCommandId: step.order === null ? null : uuidv7() }))
  const changes = steps.map(({ target, order: _, ...change }) => {
    const { upgradeId, mxedgeId, attempt } = target
    return { ...change, upgradeId, mxedgeId, attempt: change.newCommandId === null ? attempt : attempt + 1 }
  })
  await updateTargets(tx, scope, changes, nowMs)
  const ids = rounds.flatMap(({ decision }) => decision.withdrawn)
  await cancelQueuedById(tx, scope, { ids, at: now })
  // The engine withdraws a command that can't be sent; the sweep of the gateway must not get ahead of it.
  const withdrawnBy = addMs(now, 2 * options.commandExpiryMs)
  const limits = new Map(
    rounds.map(({ upgrade: { id, plan } }) => [id, { find: windowsFinder(plan), endsAt: endOf(plan) }]),
  )
  await insertUpgradeCommands(
    tx,
    scope,
    steps.flatMap((step) => {
      const { find, endsAt = null } = limits.get(step.target.upgradeId) ?? {}
      const place = find?.(step.target.plannedSiteId) ?? null
      const closesAt = isBeginning(step) ? sendBy(place, now, needOf(step, options)) : null
      const expiresAt = earliest([closesAt, endsAt, withdrawnBy]) ?? withdrawnBy
      return commandOf(step, { createdAt: now, expiresAt }) ?? []
    }),
  )
  await updateUpgrades(
    tx,
    scope,
    rounds.filter(changesUpgrade).map(({ upgrade, decision }) => ({ id: upgrade.id, change: decision.upgrade })),
  )
  for (const round of rounds) await appendRound(tx, scope, round, now)
  await appendMxedgeEvents(tx, scope, steps.flatMap(eventOf), now)
}

/** Most rounds find a waiting upgrade, which is neither written nor reported again. */
function changesUpgrade({ upgrade, decision }: DecidedRound): boolean {
  const present = { ...upgrade, finishedAt: null }
  return Object.entries(decision.upgrade).some(([name, value]) => !isDeepStrictEqual(Reflect.get(present, name), value))
}

/** An installation that has begun is completed, even after its maintenance window. */
function isBeginning({ target }: Step): boolean {
  return !isInFlight(target.state)
}

function needOf({ state, steps, step }: Step, options: Now['options']): number {
  return state === 'downloading' ? 0 : installMs(steps.slice(step), options)
}

function commandOf(step: Step, times: Pick<NewUpgradeCommand, 'createdAt' | 'expiresAt'>): NewUpgradeCommand | null {
  const { target, order, newCommandId } = step
  if (newCommandId === null || order === null) return null
  const { mxedgeId, upgradeId, attempt } = target
  return { ...orderOf(order, step.state), ...times, id: newCommandId, mxedgeId, upgradeId, upgradeAttempt: attempt + 1 }
}

function orderOf(step: MxedgeStep, state: Step['state']): MxedgeOrder {
  if ('distro' in step) {
    const kind = state === 'downloading' ? 'stage_distro' : 'upgrade_distro'
    return { kind, params: { codename: step.to, from: step.from } }
  }
  const { service, to: version, from: from_version, image_id } = step
  const kind = state === 'downloading' ? 'stage_package' : 'upgrade_service'
  return { kind, params: { service, version, image_id, from_version } }
}

/** The end of each command has its own event. A failure that no command has reported is reported here. */
function eventOf({ target, state, reason, step, staged, steps }: Step): MxedgeEventInput[] {
  if (state !== 'failed' || target.appliance === null || target.command?.state === 'rejected') return []
  const { mxedgeId: id, name, mac, siteId, appliance } = target
  const mxedge = { id, name, mac, siteId, mxclusterId: appliance.clusterId }
  const present = steps[target.state === 'downloading' ? staged : step]
  const text = reason ?? 'unknown'
  if (present === undefined || 'distro' in present) return [{ mxedge, type: 'ME_DISTRO_UPGRADE_FAILED', text }]
  const update = { package: present.service, from: present.from, to: present.to }
  return [{ mxedge, type: 'ME_PACKAGE_UPDATE_FAILED', update, text }]
}

/** Records that a limit or its end has stopped the upgrade, or that a gate pauses it. */
async function appendRound(tx: Tx, scope: OrgScope, { upgrade, decision }: DecidedRound, at: Date): Promise<void> {
  const { id, siteId } = upgrade
  const { stopping, stopReason, hold } = decision.upgrade
  if (decision.isStopped === true)
    await appendMxedgeUpgradeChange(tx, scope, {
      ...{ id, siteId, at, type: 'UPGRADE_STOPPED', after: { reason: stopReason } },
      message: `Stop upgrade ${id} of edge appliances: ${stopReason}`,
    })
  if (upgrade.stopping === null && stopping === 'cancelled')
    await appendMxedgeUpgradeChange(tx, scope, {
      ...{ id, siteId, at, type: 'UPGRADE_END_REACHED', after: { reason: stopReason } },
      message: `Upgrade ${id} of edge appliances ${stopReason}`,
    })
  if (upgrade.hold === null && hold !== null) await appendHeld(tx, scope, { id, siteId, hold, at })
}
