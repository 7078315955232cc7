import type { ReactNode } from 'react'
import { type Share, ShareBar } from '../display/share-bar.tsx'

/** A phase of an upgrade, or of its plan. */
export interface PhaseSegment {
  readonly phase: number
  readonly total: number
  readonly state: 'ended' | 'open' | 'ahead' | 'closed'
  /** Beside the name: a time, a share. */
  readonly aside: ReactNode
  readonly shares: readonly Share[]
  readonly figures: ReactNode
  /** Whether the gate after the phase has let the next one open; absent: there is none. */
  readonly isGatePassed?: boolean | undefined
}

interface PhaseSegmentsProps {
  readonly segments: readonly PhaseSegment[]
  /** Whether the gate before the first phase has let it begin; absent: there is none. */
  readonly isStartPassed?: boolean | undefined
}

function gateOf(isPassed: boolean | undefined): 'passed' | 'closed' | undefined {
  return isPassed === undefined ? undefined : isPassed ? 'passed' : 'closed'
}

/** Phases in their order, each as wide as its share of the devices, with the gates before and between them. */
export function PhaseSegments({ segments, isStartPassed }: PhaseSegmentsProps) {
  return (
    <ol className="phases">
      {segments.map(({ phase, total, state, aside, shares, figures, isGatePassed }) => (
        <li
          key={phase}
          className="phase"
          data-state={state}
          data-gate={gateOf(isGatePassed)}
          data-start-gate={phase === 1 ? gateOf(isStartPassed) : undefined}
          style={{ flexGrow: Math.sqrt(Math.max(1, total)) }}
        >
          <div className="phase-title">
            <span>Phase {phase}</span>
            <span className="muted">{aside}</span>
          </div>
          <ShareBar label={`Phase ${phase}`} shares={shares} />
          <div className="phase-figures">{figures}</div>
        </li>
      ))}
    </ol>
  )
}
