import { StateMark } from '../../../display/state-mark.tsx'
import { useTextZone } from '../../../display/times/text-zone.ts'
import type { Hold } from '../../upgrade.ts'
import { isBeforeStart } from '../../verdict.ts'
import {
  type Gate,
  type GateCheck,
  type GatedPhase,
  checkGate,
  checkWait,
  gatesBetween,
  holdTextOf,
} from './gate-checks.ts'

const MAX_GATES = 4

export interface GateListProps {
  readonly gated: { readonly phases: readonly GatedPhase[]; readonly start_gate?: Gate }
  /** The phase that is open; null: none is. */
  readonly open: number | null
  readonly hold: Hold | null
}

function resultOf({ isMet, isFailed = false }: Pick<GateCheck, 'isMet' | 'isFailed'>): 'met' | 'failed' | 'open' {
  return isMet ? 'met' : isFailed ? 'failed' : 'open'
}

/** The gates that are still closed, each with its rules and what they are compared with. */
export function GateList({ gated, open, hold }: GateListProps) {
  const zone = useTextZone()
  const gates = gatesBetween(gated)
  const closed = gates.filter(({ gate }) => gate?.passed !== true)
  const passed = gates.length - closed.length
  const { start_gate: start } = gated
  if (gates.length === 0 && start === undefined) return null
  return (
    <ul className="gates" aria-label="Gates">
      {start !== undefined && (
        <li>
          <span className="gate-name">
            Before the start
            {isBeforeStart(hold) && <strong className="gate"> · waits for an approval</strong>}
          </span>
          {checkWait(start, zone).map(({ rule, value, ...check }) => (
            <span key={rule} className="gate-rule" data-result={resultOf(check)}>
              {rule}
              <span className="muted">: {value}</span>
            </span>
          ))}
        </li>
      )}
      {passed > 0 && (
        <li>
          <StateMark tone="good">{passed === 1 ? '1 gate passed' : `${passed} gates passed`}</StateMark>
        </li>
      )}
      {closed.slice(0, MAX_GATES).map((phase) => (
        <li key={phase.phase}>
          <span className="gate-name">
            After phase {phase.phase}
            {hold !== null && phase.phase === open && <strong className="gate"> · {holdTextOf(hold, phase)}</strong>}
          </span>
          {checkGate(phase, zone).map(({ rule, value, ...check }) => (
            <span
              key={rule}
              className="gate-rule"
              data-result={phase.opened_at === undefined ? 'open' : resultOf(check)}
            >
              {rule}
              {phase.opened_at !== undefined && <span className="muted">: {value}</span>}
            </span>
          ))}
        </li>
      ))}
      {closed.length > MAX_GATES && <li className="muted">and {closed.length - MAX_GATES} more</li>}
    </ul>
  )
}
