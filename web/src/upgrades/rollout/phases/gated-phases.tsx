import type { PhaseCounts } from '../../phase-counts.ts'
import { gatesBetween } from './gate-checks.ts'
import { GateList, type GateListProps } from './gate-list.tsx'
import { PhaseWindow } from './phase-window.tsx'

interface GatedPhasesProps extends GateListProps {
  readonly phases: readonly PhaseCounts[]
}

/** The phases around the one that is open, with the gates before and between them. */
export function GatedPhases({ phases, gated, open, hold }: GatedPhasesProps) {
  const between = new Map(gatesBetween(gated).map(({ phase, gate }) => [phase, gate]))
  return (
    <>
      <PhaseWindow
        phases={phases}
        open={open ?? 1}
        isGatePassed={(phase) => between.get(phase)?.passed}
        isStartPassed={gated.start_gate?.passed}
      />
      <GateList gated={gated} open={open} hold={hold} />
    </>
  )
}
