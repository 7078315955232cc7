import { grouped } from '../../../display/texts/counted.ts'
import { duration } from '../../../display/times/times.ts'
import { useNow } from '../../../display/times/use-now.ts'
import { type PhaseSegment, PhaseSegments } from '../../phase-segments.tsx'
import type { PhaseCounts } from '../../phase-counts.ts'

/** A serial upgrade has a phase for each device: this many are shown, from the last ended one on. */
const MAX_PHASES = 12

interface PhaseWindowProps {
  readonly phases: readonly PhaseCounts[]
  /** The phase that is open, from 1. */
  readonly open: number
  /** Whether the gate after a phase has let the next one open; undefined: there is none. */
  readonly isGatePassed: (phase: number) => boolean | undefined
  /** The same of the gate before the first phase. */
  readonly isStartPassed?: boolean | undefined
}

/** The phases around the one that is open. */
export function PhaseWindow({ phases, open, isGatePassed, isStartPassed }: PhaseWindowProps) {
  const now = useNow(1000)
  const ended = phases.filter(({ phase }) => phase < open).length
  const first = Math.max(0, Math.min(ended - 1, phases.length - MAX_PHASES))
  const shown = phases.slice(first, first + MAX_PHASES)
  return (
    <>
      {first > 0 && <p className="plan-line muted">{grouped(first)} before</p>}
      <PhaseSegments
        segments={shown.map((phase) => segmentOf(phase, isGatePassed(phase.phase), now))}
        isStartPassed={isStartPassed}
      />
      {phases.length > first + MAX_PHASES && (
        <p className="plan-line muted">{grouped(phases.length - first - MAX_PHASES)} after them</p>
      )}
    </>
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
        {grouped(upgraded)} of {grouped(total)}
        {failed > 0 && <strong> · {grouped(failed)} failed</strong>}
        {underWay > 0 && ` · ${grouped(underWay)} under way`}
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
