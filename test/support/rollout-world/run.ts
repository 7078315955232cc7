import { DEFERRED_POLL_MS } from '../../../src/rollout/rounds/decide-next.ts'
import { isInFlight } from '../../../src/rollout/rollout.ts'
import { exclude } from './exclude.ts'
import { expectRound, lookBefore } from './expect-round.ts'
import { type RoundResult, round } from './round.ts'
import { comesBackLate, live, serviceMs } from './simulated.ts'
import type { World } from './world.ts'

export function isOver({ siteUpgrade }: World): boolean {
  return siteUpgrade.status === 'completed' || siteUpgrade.status === 'failed' || siteUpgrade.status === 'cancelled'
}

/** Resumes a paused upgrade. */
export function resume(world: World): void {
  const { hold, currentPhase, gatePassed, downloads } = world.siteUpgrade
  world.siteUpgrade =
    hold?.of === 'downloads'
      ? { ...world.siteUpgrade, hold: null, downloads: downloads && { ...downloads, gate_passed: downloads.current } }
      : { ...world.siteUpgrade, hold: null, gatePassed: hold?.by === 'gate' ? currentPhase : gatePassed }
}

/** Returns for how long nothing happens: until the round that is due, unless it is one that only reads. */
export function leapOf({ siteUpgrade: { dueMs }, now }: World): number {
  const waitMs = (dueMs ?? 0) - serviceMs(now)
  return waitMs > DEFERRED_POLL_MS ? waitMs : 600_000
}

/** True if nothing in flight would end without a command. */
export function isQuiet({ fleet }: World): boolean {
  return fleet.every(({ target: { state } }) => !isInFlight(state))
}

export interface Interventions {
  readonly cancelAtRound?: number
  /** The rounds at which a person pauses the upgrade. */
  readonly pauseAtRounds?: readonly number[]
  /** The places of the devices that a person excludes, with the rounds at which that happens. */
  readonly exclusions?: readonly { readonly round: number; readonly place: number }[]
  /** Sees the upgrade before and after each round, and the commands of the round. */
  readonly onRound?: (before: World['siteUpgrade'], world: World, result: RoundResult) => void
}

/** Runs to the end, resuming whenever it is paused, and checks the invariants in every round. */
export function run(world: World, { onRound, ...people }: Interventions = {}): void {
  for (let rounds = 0; !isOver(world); rounds += 1) {
    if (rounds > 4000) throw new Error('does not end')
    intervene(world, rounds, people)
    const before = world.siteUpgrade
    const look = lookBefore(world)
    const result = round(world)
    onRound?.(before, world, result)
    expectRound(look, world, result)
    for (const one of world.fleet) {
      live(one, world.now)
      if (one.flashed > 1 || one.restored > 1) throw new Error(`${one.target.deviceId} was flashed twice`)
    }
    const mayLeap = result.commanded.length === 0 && rounds > 100 && isIdle(world)
    world.now = new Date(world.now.getTime() + (mayLeap ? leapOf(world) : 1000))
  }
}

function intervene(
  world: World,
  rounds: number,
  { cancelAtRound = Infinity, pauseAtRounds = [], exclusions = [] }: Omit<Interventions, 'onRound'>,
): void {
  // The worker that stops an upgrade at its end comes a moment after it.
  const endsS = world.siteUpgrade.plan.ends_s ?? Infinity
  if ((rounds === cancelAtRound || world.now.getTime() / 1000 > endsS + 2) && world.siteUpgrade.stopping === null)
    world.siteUpgrade = { ...world.siteUpgrade, stopping: 'cancelled' }
  for (const { round: at, place } of exclusions) if (at === rounds) exclude(world, place)
  const { hold, stopping } = world.siteUpgrade
  if (hold === null && stopping === null && pauseAtRounds.includes(rounds)) {
    const since = { since_s: 0, since_ms: serviceMs(world.now) }
    world.siteUpgrade = { ...world.siteUpgrade, hold: { by: 'user', reason: 'paused', ...since } }
  } else if (hold !== null && isQuiet(world)) resume(world)
}

/** Devices live by the second; where only the dead are waited for, time may leap. */
export function isIdle({ fleet }: World): boolean {
  return fleet.every(
    ({ fate, device, target: { state } }) =>
      !isInFlight(state) ||
      ((state === 'rebooting' || state === 'rolling_back') &&
        (fate === 'never_returns' || (comesBackLate(fate) && device.link === 'absent'))),
  )
}
