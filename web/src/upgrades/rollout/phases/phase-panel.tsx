import { Panel } from '../../../display/layout/panel.tsx'
import { StateMark } from '../../../display/state-mark.tsx'
import { useTextZone } from '../../../display/times/text-zone.ts'
import { Ago } from '../../../display/times/time.tsx'
import { useNow } from '../../../display/times/use-now.ts'
import type { Hold, Report } from '../../upgrade.ts'
import { BudgetBar } from './budget-bar.tsx'
import { type GateCheck, checkGate, checkWait, gatesBetween, holdTextOf } from './gate-checks.ts'
import { countPhases } from '../../phase-counts.ts'
import { PhaseWindow } from './phase-window.tsx'
import { failurePaceOf } from '../outlook.ts'
import { strategyText } from '../strategy-text.ts'
import { isBeforeStart, openPhaseOf } from '../../verdict.ts'

const MAX_GATES = 4

interface GatesProps {
  readonly report: Report
  readonly hold: Hold | null
}

interface PhasePanelProps extends GatesProps {
  /** One of what the upgrade is for, such as "device". */
  readonly unit: string
}

/** The phases with the gates between them, and how many more failures the upgrade tolerates. */
export function PhasePanel({ report, hold, unit }: PhasePanelProps) {
  const open = openPhaseOf(report) ?? 1
  const phases = countPhases(report)
  const between = new Map(gatesBetween(report).map((phase) => [phase.phase, phase]))
  return (
    <Panel title="Phases" aside={strategyText(report, unit)}>
      <PhaseWindow
        phases={phases}
        open={open}
        isGatePassed={(phase) => between.get(phase)?.gate?.passed}
        isStartPassed={report.start_gate?.passed}
      />
      <Gates report={report} hold={hold} />
      <BudgetBar report={report} />
      <Failures report={report} unit={unit} />
    </Panel>
  )
}

function Failures({ report, unit }: Pick<PhasePanelProps, 'report' | 'unit'>) {
  const pace = failurePaceOf(report, unit, useNow())
  if (pace === null) return null
  return (
    <p className="plan-line muted">
      {pace.text}; the last one <Ago at={pace.lastAt} />
    </p>
  )
}

function resultOf({ isMet, isFailed = false }: Pick<GateCheck, 'isMet' | 'isFailed'>): 'met' | 'failed' | 'open' {
  return isMet ? 'met' : isFailed ? 'failed' : 'open'
}

/** The gates that are still closed, each with its rules and what they are compared with. */
function Gates({ report, hold }: GatesProps) {
  const zone = useTextZone()
  const gates = gatesBetween(report)
  const closed = gates.filter(({ gate }) => gate?.passed !== true)
  const passed = gates.length - closed.length
  const open = openPhaseOf(report)
  const { start_gate: start } = report
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
