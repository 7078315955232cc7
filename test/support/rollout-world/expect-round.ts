import { expect } from 'vitest'
import { awaitsImage } from '../../../src/rollout/phases/decide-downloads.ts'
import { isInFlight, isTerminal } from '../../../src/rollout/rollout.ts'
import type { TargetNow } from '../../../src/rollout/targets/target.ts'
import { type RoundResult, countStates } from './round.ts'
import type { Simulated } from './simulated.ts'
import type { World } from './world.ts'

/** What the invariants of a round need to know of the world before it. */
export interface Look {
  readonly phase: number
  readonly openDownloads: number
  /** It is paused, or stops. */
  readonly isHalted: boolean
  /** The phases before the open one have ended. */
  readonly isSettled: boolean
  /** Devices that download separately, and have no image yet. */
  readonly awaiting: readonly Simulated[]
  /** The phases of the downloads in which devices still load; one that comes back late delays none. */
  readonly loading: readonly number[]
}

export function lookBefore({ siteUpgrade, fleet }: World): Look {
  const { currentPhase: phase, downloads, hold, stopping } = siteUpgrade
  return {
    phase,
    openDownloads: downloads?.current ?? 0,
    isHalted: hold !== null || stopping !== null,
    isSettled: fleet.every(
      ({ target }) =>
        target.phase >= phase || isTerminal(target.state) || target.state === 'deferred' || target.attempt > 0,
    ),
    awaiting: fleet.filter((one) => one.stages && one.target.downloadPhase !== null && awaitsImage(one.target)),
    loading: fleet.flatMap(({ target, fate }) =>
      fate !== 'comes_late' && awaitsImage(target) ? (target.downloadPhase ?? []) : [],
    ),
  }
}

/** Asserts the invariants of every round. */
export function expectRound(before: Look, { siteUpgrade, fleet, now }: World, result: RoundResult): void {
  const { commanded, orders } = result
  const isEarly = now < siteUpgrade.rebootAt
  expect(isEarly && orders.some((order) => order !== 'stage')).toBe(false)
  expect(siteUpgrade.counts).toEqual(countStates(fleet))
  if (orders.every((order) => order === 'restore_backup')) return
  expect(before.isHalted || siteUpgrade.stopping !== null).toBe(false)
  expectPhases(before, result)
  const begun = commanded.filter(({ attempt, state }) => attempt === 0 && state === 'planned')
  for (const { downloadPhase } of begun)
    if (downloadPhase !== null) expect(Math.min(...before.loading)).toBeGreaterThanOrEqual(downloadPhase)
  const restarting = fleet.filter(
    ({ target, command }) => isInFlight(target.state) && command?.kind !== 'stage' && target.rank !== null,
  )
  expect(new Set(restarting.map(({ target }) => target.rank)).size).toBeLessThan(2)
}

/** Only the open phase reboots, and once it has all its images. */
function expectPhases(before: Look, { commanded, orders }: RoundResult): void {
  const isDownload = (target: TargetNow, place: number): boolean =>
    orders[place] === 'stage' && target.downloadPhase !== null && target.downloadPhase <= before.openDownloads
  const rebooted = commanded.filter((target, place) => !isDownload(target, place) && orders[place] !== 'restore_backup')
  expect(rebooted.every((target) => target.phase <= before.phase)).toBe(true)
  expect(before.isSettled || rebooted.length === 0).toBe(true)
  const activated = commanded.filter(
    ({ downloadPhase, attempt }, place) => downloadPhase !== null && attempt === 1 && orders[place] === 'activate',
  )
  for (const one of activated) expect(before.awaiting.filter(({ target }) => target.phase <= one.phase)).toEqual([])
}
