import { counted, grouped } from '../../../display/texts/counted.ts'
import { clockTime } from '../../../display/times/times.ts'
import type { Hold, Report } from '../../upgrade.ts'

type ReportedPhase = Report['phases'][number]
export type Gate = NonNullable<ReportedPhase['gate']>

/** A phase with its gate, and what the gate is compared with. */
export type GatedPhase = Pick<
  ReportedPhase,
  'phase' | 'total' | 'upgraded' | 'failed' | 'opened_at' | 'ended_at' | 'gate'
>

/** A condition of a gate with what it is compared with. */
export interface GateCheck {
  readonly rule: string
  readonly value: string
  readonly isMet: boolean
  /** True if the phase can meet it only after a retry of devices that failed. */
  readonly isFailed?: boolean
}

const waits = {
  pause: { rule: 'a person resumes', open: 'not yet' },
  approval: { rule: 'an approval', open: 'not given yet' },
  check: { rule: 'a check passes', open: 'not passed yet' },
  time: { rule: 'a time passes', open: 'not yet' },
} as const

const BY_ANOTHER = 'an approval by a person other than the creator'

/**
 * Returns what the phase has to meet for the next one to open. An empty phase meets all numbers; other upgrades have taken
 * over its devices, and the next one still waits for a person or a check.
 * @param zone That of the times. Default: the zone of the viewer.
 */
export function checkGate(phase: GatedPhase, zone?: string): readonly GateCheck[] {
  const { gate, total } = phase
  if (gate === undefined) return []
  const wait = checkWait(gate, zone)
  return total === 0 ? wait : [...checkNumbers(gate, phase), ...wait]
}

function checkNumbers(gate: Gate, { total, failed, upgraded, ended_at: endedAt }: GatedPhase): readonly GateCheck[] {
  const { max_failures: failures, max_failure_percentage: percent, min_upgraded: atLeast } = gate
  const { min_success_percentage: share } = gate
  const hasEnded = endedAt !== undefined
  // Devices that failed stay failed unless they are retried. Others may still be upgraded until the phase ends.
  const checks: readonly (readonly [rule: string, value: string, isMet: boolean, isFinal: boolean] | null)[] = [
    failures === undefined ? null : [`at most ${grouped(failures)} failed`, grouped(failed), failed <= failures, true],
    percent === undefined
      ? null
      : [
          `at most ${percent} % failed`,
          `${grouped(failed)} of ${grouped(total)}`,
          100 * failed <= percent * total,
          true,
        ],
    atLeast === undefined
      ? null
      : [`at least ${grouped(atLeast)} upgraded`, grouped(upgraded), upgraded >= Math.min(atLeast, total), hasEnded],
    share === undefined
      ? null
      : [
          `at least ${share} % upgraded`,
          `${grouped(upgraded)} of ${grouped(total)}`,
          100 * upgraded >= share * total,
          hasEnded,
        ],
  ]
  return checks.flatMap((check) => {
    if (check === null) return []
    const [rule, value, isMet, isFinal] = check
    return [{ rule, value, isMet, ...(!isMet && isFinal && { isFailed: true }) }]
  })
}

/** Returns what the gate waits for besides the results of the phase. An approval may be given before the instant of the gate. */
export function checkWait(gate: Gate, zone?: string, nowMs = Date.now()): readonly GateCheck[] {
  const { wait_for: wait, minutes, not_before: notBefore, passed } = gate
  const { prevent_self_approval: byAnother, approvals, opened_by: opening } = gate
  const isApproved = opening?.by === 'approval'
  const { approved_by: given = isApproved ? [opening] : [] } = gate
  if (wait === undefined) return []
  const several = `${approvals} approvals by ${byAnother ? 'people other than the creator' : 'different people'}`
  const alone = minutes === undefined ? waits[wait].rule : counted(minutes, 'minute passes', 'minutes pass')
  const rule = approvals !== undefined ? several : byAnother ? BY_ANOTHER : alone
  const open =
    given.length === 0 ? waits[wait].open : `${given.length} given, by ${given.map(({ name }) => name).join(', ')}`
  const isOpen = passed === true
  const event = { rule, value: isOpen ? 'done' : open, isMet: isOpen || isApproved }
  if (notBefore === undefined) return [event]
  const isOver = isOpen || notBefore * 1000 <= nowMs
  const time = { rule: `not before ${clockTime(notBefore, zone)}`, value: isOver ? 'done' : 'not yet', isMet: isOver }
  // Some gates wait for nothing but their instant.
  return wait === 'time' && minutes === undefined ? [time] : [event, time]
}

/** Returns the gates that lie between two phases, in the order of the phases. */
export function gatesBetween({ phases }: { readonly phases: readonly GatedPhase[] }): readonly GatedPhase[] {
  return phases.slice(0, -1).filter((phase) => checkGate(phase).length > 0)
}

/** Returns why the gate after a phase is closed while the upgrade waits at it. */
export function holdTextOf({ by }: Pick<Hold, 'by'>, phase: GatedPhase): string {
  if (by === 'user') return 'paused by a person'
  if (by === 'approval') return 'waits for an approval'
  if (by === 'check') return 'waits for a check'
  if (by === 'time') return 'waits for the time to pass'
  const unmet = checkGate(phase).filter(({ isMet }) => !isMet)
  const isRefused = unmet.length > 0 && unmet.every(({ rule }) => rule === waits.check.rule)
  return isRefused ? 'refused by its check' : 'closed by the results'
}
