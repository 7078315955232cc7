import { counted, grouped } from '../display/texts/counted.ts'
import { clockTime } from '../display/times/times.ts'
import type { Hold, Report } from './upgrade.ts'
import { type HeldPhase, phaseAfter } from './verdict.ts'
import { localText } from '../display/times/local-text.ts'

/**
 * Returns what it means to pause an upgrade.
 * @param waiting The devices that it has yet to upgrade, in words.
 * @param going Says what those do that are under way; null: none is.
 */
export function pauseEffect(waiting: string, going: string | null): string {
  const text = `No further commands are sent to the ${waiting} still to be upgraded, until somebody resumes the upgrade.`
  return going === null ? text : `${text} ${going}`
}

/** A gate, as far as it has a time that no decision shortens. */
type Timed = { readonly not_before?: number } | undefined

/**
 * Returns what it means to resume an upgrade.
 * @param waiting As in pauseEffect().
 * @param gate The one at which it waits.
 * @param zone That of its times. Default: the zone of the viewer.
 */
export function resumeEffect(waiting: string, hold: Hold | null, gate?: Timed, zone?: string): string {
  if (hold?.by === 'user') return `The upgrade continues with the ${waiting} still to be upgraded.`
  // It ends a wait for the instant itself.
  const earliest = hold?.by === 'time' ? '' : earliestText(gate, zone)
  return `The upgrade waits: ${waitText(hold, zone)}. Resuming opens the next phase all the same, for up to ${waiting}${earliest}.`
}

/** Returns why an upgrade waits, for a sentence. */
export function waitText(hold: Hold | null, zone?: string): string {
  return localText(hold?.reason ?? '', zone)
}

/** Returns from when on a decision at a gate has its effect, as the end of a sentence; empty: at once. */
export function earliestText(gate: Timed, zone?: string, nowMs = Date.now()): string {
  const at = gate?.not_before ?? 0
  return at * 1000 > nowMs ? `, on ${clockTime(at, zone)} at the earliest` : ''
}

/**
 * Returns what it means to retry failed devices, which restart.
 * @param left How many the upgrade had not begun with when it ended.
 */
export function retryEffect(failed: number, unit: string, left = 0): string {
  const text = `Upgrades and restarts the ${counted(failed, `failed ${unit}`)} again.`
  if (left === 0) return text
  return `${text} ${counted(left, `${unit} that was not begun stays as it is`, `${unit}s that were not begun stay as they are`)}.`
}

/** Returns what it means to approve the phase that is held, with how many of its devices failed. @param zone As in resumeEffect(). */
export function approvalEffect({ phases, phase, words }: HeldPhase, waiting: number, zone?: string): string {
  const held = phases.find((one) => one.phase === phase)
  const next = phaseAfter(phases, phase)
  const opens = `Opens the next phase: ${counted(next?.total ?? waiting, 'device')}${earliestText(held?.gate, zone)}.`
  if (held === undefined || held.failed === 0) return opens
  return `${grouped(held.failed)} of the ${counted(held.total, 'device')} of ${words} ${phase} failed. ${opens}`
}

/** Returns what it means to approve what an upgrade waits for, whatever its phases are. @param waiting As in pauseEffect(). */
export function continueEffect(waiting: string, hold: Hold | null, gate: Timed, zone?: string): string {
  const effect = `The upgrade waits: ${waitText(hold, zone)}. It continues with up to ${waiting}${earliestText(gate, zone)}.`
  return sharedEffect(effect, hold)
}

/** Adds how many people must approve besides this one. */
export function sharedEffect(effect: string, hold: Hold | null): string {
  const others = (hold?.approvals_missing ?? 1) - 1
  if (others < 1) return effect
  return `Waits for ${counted(others, 'further approval')} by ${others === 1 ? 'another person' : 'other people'}. Then: ${effect}`
}

/** Returns what it means to approve the start: devices of the first phase begin, at each site from its start on. */
export function startEffect({ phases }: Pick<Report, 'phases'>, waiting: number, unit: string): string {
  const [first] = phases
  return `Lets the upgrade begin, at each site from its start time on. The first phase has ${counted(first?.total ?? waiting, unit)} of ${grouped(waiting)}.`
}
