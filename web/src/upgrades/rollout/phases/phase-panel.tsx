import { Panel } from '../../../display/layout/panel.tsx'
import { Ago } from '../../../display/times/time.tsx'
import { useNow } from '../../../display/times/use-now.ts'
import type { Hold, Report } from '../../upgrade.ts'
import { BudgetBar } from './budget-bar.tsx'
import { GatedPhases } from './gated-phases.tsx'
import { countPhases } from '../../phase-counts.ts'
import { failurePaceOf } from '../outlook.ts'
import { strategyText } from '../strategy-text.ts'
import { openPhaseOf } from '../../verdict.ts'

interface PhasePanelProps {
  readonly report: Report
  readonly hold: Hold | null
  /** One of what the upgrade is for, such as "device". */
  readonly unit: string
}

/** The phases with the gates between them, and how many more failures the upgrade tolerates. */
export function PhasePanel({ report, hold, unit }: PhasePanelProps) {
  return (
    <Panel title="Phases" aside={strategyText(report, unit)}>
      <GatedPhases phases={countPhases(report)} gated={report} open={openPhaseOf(report)} hold={hold} />
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
