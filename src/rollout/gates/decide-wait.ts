import { counted } from '../../platform/counted.ts'
import { wordsOf } from './decide-hold.ts'
import { type OrgPhasePlan, type PhaseGate, START_PHASE, type StartGate, type UpgradeHold } from '../rollout.ts'

/** The state of the gates of a whole upgrade. */
interface Gates {
  /** They are gates between phases of the downloads. Absent: of the reboots. */
  readonly of?: 'downloads'
  /** Targets by phase. */
  readonly sizes: readonly number[]
  readonly gates: OrgPhasePlan['gates']
  /** The last phase at whose gate a person resumed the upgrade; 0 = none. */
  readonly gatePassed: number
  /** The phases that people have approved, once for each of the people. */
  readonly approved: readonly number[]
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

type Wait = Pick<UpgradeHold, 'by' | 'reason' | 'missing' | 'wait_ms'>

/** A gate that waits for an event. */
type WaitingGate = PhaseGate & Required<Pick<PhaseGate, 'wait_for'>>

/**
 * Returns the gate after a phase if it waits for an event. A phase that was planned without devices waits for nothing. One
 * that lost all its devices waits, because nothing has shown yet that the next one may open.
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
 * open.
 * @param phase The phase that has ended, from 1.
 */
export function findWait(phase: number, { of, sizes, gates, gatePassed, approved }: Gates): Wait | null {
  const gate = findWaitingGate(phase, { sizes, gates })
  if (gate === null) return null
  const ended = endOf(phase, { of, isEmptied: gate.emptied === true })
  switch (gate.wait_for) {
    case 'pause':
      return gatePassed >= phase ? null : { by: 'gate', reason: `${ended}, after which a pause was requested` }
    case 'check':
      return gatePassed >= phase ? null : { by: 'check', reason: waitForCheck(ended) }
    case 'time':
      return gatePassed >= phase ? null : waitForTime(ended, gate)
    case 'approval':
      // Resuming the upgrade after too many failures is not an approval.
      return findApprovalWait(gate, countApproved(approved, phase), `${ended} and`)
  }
}

const MINUTE_MS = 60_000

/** Returns how long the gate lets the next phase wait. */
export function waitMsOf(gate: PhaseGate | null): number {
  return gate?.wait_for === 'time' ? (gate.minutes ?? 0) * MINUTE_MS : 0
}

function waitForTime(ended: string, gate: PhaseGate): Wait {
  return {
    by: 'time',
    reason: `${ended} and waits for ${counted(gate.minutes ?? 0, 'minute')}`,
    wait_ms: waitMsOf(gate),
  }
}

/** @param isEmptied It has lost all its devices, to other upgrades or because people excluded them. */
export function endOf(
  phase: number,
  { of, isEmptied }: { readonly of: UpgradeHold['of']; readonly isEmptied: boolean },
): string {
  return `${wordsOf(of).phase} ${phase} ${isEmptied ? 'lost all its devices' : 'ended'}`
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
