import { decideNext } from '../../../src/rollout/rounds/decide-next.ts'
import { type TargetState, defaultRolloutOptions, isTerminal, noCounts } from '../../../src/rollout/rollout.ts'
import type { Now, SiteUpgradeDecision, SiteUpgradeNow } from '../../../src/rollout/site-upgrade-now.ts'
import type { CommandNow, TargetNow } from '../../../src/rollout/targets/target.ts'
import { command } from '../fleets/targets.ts'
import { type Simulated, serviceMs } from './simulated.ts'
import type { World } from './world.ts'

const options = { ...defaultRolloutOptions, soakMs: 5000, retryMs: 2000 }

/** True if the worker reads the target. */
function isOpen({ siteUpgrade }: World, { phase, downloadPhase, state }: TargetNow): boolean {
  const { currentPhase, downloads } = siteUpgrade
  const isInDownload = downloadPhase !== null && downloadPhase <= (downloads?.current ?? 0)
  return phase <= currentPhase || (isInDownload && state !== 'downloaded')
}

export interface RoundResult {
  readonly commanded: readonly TargetNow[]
  /** The kinds of the commands. */
  readonly orders: readonly CommandNow['kind'][]
}

/** Returns the upgrade with the targets that the worker would read. */
export function readSite(world: World): SiteUpgradeNow {
  const targets = world.fleet
    .map((one) => ({ ...one.target, device: one.device, command: one.command, download: one.download }))
    .filter(
      ({ state, ...target }) =>
        !isTerminal(state) && (world.siteUpgrade.stopping !== null || isOpen(world, { state, ...target })),
    )
  return { ...world.siteUpgrade, targets }
}

/** The time of a round of worlds at this instant. */
export function nowOf(now: Date): Now {
  return { now, nowMs: serviceMs(now), graceUntilMs: 0, crowdedMs: null, options }
}

/** Does the worker's part around decideNext(), without a database. */
export function round(world: World): RoundResult {
  return applyDecision(world, decideNext(readSite(world), nowOf(world.now)))
}

/** Writes the decision about the upgrade. */
export function applyDecision(
  world: World,
  { steps, withdrawn, fences, siteUpgrade }: SiteUpgradeDecision,
): RoundResult {
  const { fleet, now } = world
  const byId = new Map(fleet.map((one) => [one.target.deviceId, one]))
  for (const { target, to, reason, failedAttempts, retryAtMs, staged, order } of steps) {
    const one = byId.get(target.deviceId)
    if (one === undefined) throw new Error('a step without a target')
    if (isTerminal(one.target.state)) throw new Error(`${one.target.deviceId} had ended`)
    const entered = to === target.state && order === null ? {} : { enteredMs: serviceMs(now) }
    one.target = { ...one.target, state: to, ...entered, failedAttempts, retryAtMs, staged }
    one.reason = reason
    if (order === null) continue
    one.target = { ...one.target, attempt: target.attempt + 1, bootCount: one.device.bootCount }
    one.command = command('queued', { id: `${target.deviceId}#${target.attempt + 1}`, kind: order })
    one.download = null
  }
  for (const one of fleet) {
    if (one.command !== null && withdrawn.includes(one.command.id)) one.command = { ...one.command, state: 'cancelled' }
    if (fences.some(({ commandId }) => commandId === one.command?.id) && one.download?.delivered !== true)
      one.download = { bytesServed: 0, touchedMs: serviceMs(now), delivered: false, fenced: true }
  }
  world.siteUpgrade = { ...world.siteUpgrade, ...siteUpgrade }
  const commanding = steps.filter(({ order }) => order !== null)
  return { commanded: commanding.map(({ target }) => target), orders: commanding.flatMap(({ order }) => order ?? []) }
}

export function countStates(fleet: readonly Simulated[]): Record<TargetState, number> {
  const counts = { ...noCounts }
  for (const { target } of fleet) counts[target.state] += 1
  return counts
}
