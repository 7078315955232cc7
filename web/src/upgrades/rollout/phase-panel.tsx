import { Panel } from '../../display/layout/panel.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { duration } from '../../display/times/times.ts'
import { useNow } from '../../display/times/use-now.ts'
import { type PhaseSegment, PhaseSegments } from '../phase-segments.tsx'
import type { Hold, Report } from '../upgrade.ts'
import { BudgetBar } from './budget-bar.tsx'
import { checkGate, gatesBetween, holdTextOf } from './gate-checks.ts'
import { type PhaseCounts, countPhases } from './phase-counts.ts'
import { strategyText } from './strategy-text.ts'
import { openPhaseOf } from './verdict.ts'

/** A serial upgrade has a phase for each device: this many are shown, from the last ended one on. */
const MAX_PHASES = 12
const MAX_GATES = 4

interface PhasePanelProps {
  readonly report: Report
  readonly hold: Hold | null
}

/** The phases with the gates between them, and how many more failures the upgrade tolerates. */
export function PhasePanel({ report, hold }: PhasePanelProps) {
  const now = useNow(1000)
  const open = openPhaseOf(report) ?? 1
  const phases = countPhases(report)
  const first = Math.max(0, Math.min(open - 2, phases.length - MAX_PHASES))
  const shown = phases.slice(first, first + MAX_PHASES)
  const between = new Map(gatesBetween(report).map((phase) => [phase.phase, phase]))
  return (
    <Panel title="Phases" aside={strategyText(report)}>
      {first > 0 && <p className="plan-line muted">{first} before</p>}
      <PhaseSegments segments={shown.map((phase) => segmentOf(phase, between.get(phase.phase)?.gate?.passed, now))} />
      {phases.length > first + MAX_PHASES && (
        <p className="plan-line muted">{phases.length - first - MAX_PHASES} after them</p>
      )}
      <Gates report={report} hold={hold} />
      <BudgetBar report={report} />
    </Panel>
  )
}

/** The gates that are still closed, each with its rules and what they are compared with. */
function Gates({ report, hold }: PhasePanelProps) {
  const gates = gatesBetween(report)
  const closed = gates.filter(({ gate }) => gate?.passed !== true)
  const passed = gates.length - closed.length
  const open = openPhaseOf(report)
  if (gates.length === 0) return null
  return (
    <ul className="gates" aria-label="Gates">
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
          {checkGate(phase).map(({ rule, value, isMet }) => (
            <span key={rule} className="gate-rule" data-met={phase.opened_at !== undefined && isMet}>
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

function segmentOf(phase: PhaseCounts, isGatePassed: boolean | undefined, now: number): PhaseSegment {
  const { phase: number, total, state, upgraded, failed, underWay } = phase
  return {
    ...{ phase: number, total, state, isGatePassed },
    aside: timeOf(phase, now),
    shares: sharesOf(phase),
    figures: (
      <>
        {upgraded} of {total}
        {failed > 0 && <strong> · {failed} failed</strong>}
        {underWay > 0 && ` · ${underWay} under way`}
      </>
    ),
  }
}

function sharesOf({ upgraded, underWay, failed, cancelled, waiting }: PhaseCounts) {
  return [
    { name: 'upgraded', tone: 'good', count: upgraded },
    { name: 'under way', tone: 'busy', count: underWay },
    { name: 'failed', tone: 'bad', count: failed },
    { name: 'cancelled', tone: 'warn', count: cancelled },
    { name: 'waiting', tone: 'idle', count: waiting },
  ] as const
}

function timeOf({ openedAt, endedAt, state }: PhaseCounts, now: number): string {
  if (openedAt === null) return state === 'closed' ? 'not opened' : ''
  return duration((endedAt ?? now) - openedAt)
}
