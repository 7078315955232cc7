import { counted } from '../../platform/counted.ts'
import { greatestOf } from '../../platform/extremes.ts'
import { epochS } from '../../platform/time/clock.ts'
import { wordsOf } from './decide-hold.ts'
import type { Now } from '../site-upgrade-now.ts'
import { type OrgPhasePlan, type PhaseGate, START_PHASE, type StartGate, type UpgradeHold } from '../rollout.ts'

/** The state of the gates of a whole upgrade. */
interface Gates {
  /** They are gates between phases of the downloads. Absent: of the reboots. */
  readonly of?: 'downloads'
  /** What is upgraded, in texts. Absent: devices. */
  readonly units?: string
  /** Targets by phase. */
  readonly sizes: readonly number[]
  readonly gates: OrgPhasePlan['gates']
  /** The last phase at whose gate a person resumed the upgrade; 0 = none. */
  readonly gatePassed: number
  /** The phases that people have approved, once for each of the people. */
  readonly approved: readonly number[]
  /** The phases after which people have opened the next one before its instant. */
  readonly hurried: readonly number[]
}

/** The gate before the first phase. */
export interface StartNow {
  readonly gate: StartGate
  /** The number of people who have approved it. */
  readonly given: number
}

/** Returns what an upgrade waits for before it begins; null: it may begin. */
export function findStartWait(start: StartNow | null): (Wait & Pick<UpgradeHold, 'phase'>) | null {
  const wait = start && findApprovalWait(start.gate, start.given, 'its start')
  return wait && { ...wait, phase: START_PHASE }
}

/** Returns how many further people must approve. @param given The number of people who have approved. */
export function countMissing({ approvals = 1 }: StartGate, given: number): number {
  return Math.max(0, approvals - given)
}

/** How often each phase is in `approved`; see Gates. */
export function countApproved(approved: readonly number[], phase: number): number {
  return approved.filter((one) => one === phase).length
}

function findApprovalWait(gate: StartGate, given: number, what: string): Wait | null {
  const missing = countMissing(gate, given)
  if (missing === 0) return null
  const reason = `${what} waits for ${approvalOf(gate, missing)}`
  return { by: 'approval', reason, ...((gate.approvals ?? 1) > 1 && { missing }) }
}

export type Wait = Pick<UpgradeHold, 'by' | 'reason' | 'missing' | 'wait_ms' | 'not_before_s'>

/** Returns the pause that begins now for a wait at a gate. */
export function holdOf(
  wait: Omit<UpgradeHold, 'since_s' | 'since_ms'>,
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): UpgradeHold {
  return { ...wait, since_s: epochS(now), since_ms: nowMs }
}

/** A gate that waits for an event. */
type WaitingGate = PhaseGate & Required<Pick<PhaseGate, 'wait_for'>>

/**
 * Returns the gate after a phase if it waits for an event. A phase that was planned without devices waits for nothing. One
 * that lost all its devices waits, because nothing has shown yet that the next one may open, as do those before the first devices
 * of an upgrade that has got them later.
 * @param phase From 1.
 */
export function findWaitingGate(phase: number, { sizes, gates }: Pick<Gates, 'sizes' | 'gates'>): WaitingGate | null {
  const gate = gates?.[phase - 1] ?? null
  if (gate?.wait_for === undefined) return null
  const { wait_for: waitFor, emptied = false } = gate
  return (sizes[phase - 1] ?? 0) === 0 && !emptied ? null : { ...gate, wait_for: waitFor }
}

/**
 * Returns what the gate after a phase waits for although enough of its devices were upgraded; null: the next phase may
 * open. An approval may be given before the instant of the gate, and a check is called after it.
 * @param phase The phase that has ended, from 1.
 */
export function findWait(phase: number, state: Gates, now: Date): Wait | null {
  const { of, units, sizes, gates, gatePassed, approved } = state
  const ended = endOf(phase, { of, units, isEmptied: gates?.[phase - 1]?.emptied === true })
  const notBeforeS = findInstant(phase, state, now)
  // The instant is the earliest start of the next phase, so it applies after a phase without devices too.
  const instant = notBeforeS === null ? null : waitForTime(ended, { notBeforeS })
  const gate = findWaitingGate(phase, { sizes, gates })
  if (gate === null) return instant
  const isPassed = gatePassed >= phase
  switch (gate.wait_for) {
    case 'pause':
      return isPassed ? null : { by: 'gate', reason: `${ended}, after which a pause was requested` }
    case 'check':
      return instant ?? (isPassed ? null : { by: 'check', reason: waitForCheck(ended) })
    case 'time':
      return isPassed || gate.minutes === undefined
        ? instant
        : waitForTime(ended, { minutes: gate.minutes, notBeforeS })
    case 'approval':
      // Resuming the upgrade after too many failures is not an approval.
      return findApprovalWait(gate, countApproved(approved, phase), `${ended} and`) ?? instant
  }
}

/** Returns the instant before which the phase after this one may not open; null: there is none, or it is over. */
export function findInstant(
  phase: number,
  { gates, hurried }: Pick<Gates, 'gates' | 'hurried'>,
  now: Date,
): number | null {
  const notBeforeS = gates?.[phase - 1]?.not_before_s ?? null
  return notBeforeS === null || notBeforeS <= epochS(now) || hurried.includes(phase) ? null : notBeforeS
}

const MINUTE_MS = 60_000

/** Returns how long the gate lets the next phase wait. */
export function waitMsOf(gate: PhaseGate | null): number {
  return gate?.wait_for === 'time' ? (gate.minutes ?? 0) * MINUTE_MS : 0
}

/** Returns the last instant before which the gates before a phase keep it closed; 0: there is none. */
export function instantMsBefore(phase: number, gates: OrgPhasePlan['gates']): number {
  const before = (gates ?? []).slice(0, phase - 1)
  return Math.max(0, greatestOf(before.map((gate) => 1000 * (gate?.not_before_s ?? 0))))
}

/** True if a gate lets the next phase wait for a time, or until an instant. */
export function hasTime(gates: OrgPhasePlan['gates']): boolean {
  return gates?.some((gate) => waitMsOf(gate) > 0 || gate?.not_before_s !== undefined) ?? false
}

interface TimeOf {
  readonly minutes?: number
  readonly notBeforeS: number | null
}

function waitForTime(ended: string, { minutes, notBeforeS }: TimeOf): Wait {
  const times = [
    ...(minutes === undefined ? [] : [`for ${counted(minutes, 'minute')}`]),
    ...(notBeforeS === null ? [] : [`until ${new Date(notBeforeS * 1000).toISOString()}`]),
  ]
  return {
    by: 'time',
    reason: `${ended} and waits ${times.join(' and ')}`,
    ...(minutes !== undefined && { wait_ms: minutes * MINUTE_MS }),
    ...(notBeforeS !== null && { not_before_s: notBeforeS }),
  }
}

/** Returns when the wait for a time ends, in service time: an instant is one of the wall clock, and a time is not. */
export function waitEndMs(
  { since_ms: sinceMs, wait_ms: waitMs = 0, not_before_s: notBeforeS }: UpgradeHold,
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): number {
  const instantMs = notBeforeS === undefined ? 0 : nowMs + notBeforeS * 1000 - now.getTime()
  return Math.max(sinceMs + waitMs, instantMs)
}

/** @param isEmptied See PhaseGate.emptied. */
export function endOf(
  phase: number,
  {
    of,
    units = 'devices',
    isEmptied,
  }: { readonly of: UpgradeHold['of']; readonly units?: string | undefined; readonly isEmptied: boolean },
): string {
  return `${wordsOf(of).phase} ${phase} ${isEmptied ? `has no ${units}` : 'ended'}`
}

/** @param ended See endOf(). @param failure What the last call of the check gave, if it was not a decision. */
export function waitForCheck(ended: string, failure?: string): string {
  return `${ended} and waits for its check${failure === undefined ? '' : `, which ${failure}`}`
}

function approvalOf({ prevent_self_approval: another, approvals = 1 }: StartGate, missing: number): string {
  if (approvals > 1) {
    const who = another === true ? 'different people who have not created the upgrade' : 'different people'
    return `${missing} of ${approvals} approvals by ${who}`
  }
  return another === true ? 'an approval by a person who has not created the upgrade' : 'an approval'
}
