import { Panel } from '../../display/panel.tsx'
import { ShareBar } from '../../display/share-bar.tsx'
import { duration } from '../../display/times.ts'
import { useNow } from '../../display/use-now.ts'
import type { Hold, Report } from '../upgrade.ts'
import { type PhaseCounts, countPhases } from './phase-counts.ts'
import { openPhaseOf } from './verdict.ts'

/** The phases in their order, each as wide as its share of the devices; a gate between two shows what it waits for. */
export function PhasePanel({ report, hold }: { readonly report: Report; readonly hold: Hold | null }) {
  const now = useNow(1000)
  const open = openPhaseOf(report)
  return (
    <Panel title="Phases" aside={report.strategy.replaceAll('_', ' ')}>
      <ol className="phases">
        {countPhases(report).map((phase) => (
          <li
            key={phase.phase}
            className="phase"
            data-state={phase.state}
            style={{ flexGrow: Math.sqrt(Math.max(1, phase.total)) }}
          >
            <div className="phase-title">
              <span>Phase {phase.phase}</span>
              <span className="muted">{timeOf(phase, now)}</span>
            </div>
            <ShareBar label={`Phase ${phase.phase}`} shares={sharesOf(phase)} />
            <div className="phase-figures">
              {phase.upgraded} of {phase.total}
              {phase.failed > 0 && <strong> · {phase.failed} failed</strong>}
              {phase.underWay > 0 && ` · ${phase.underWay} under way`}
            </div>
            {hold !== null && phase.phase === open && <div className="gate">{gateText(hold)}</div>}
          </li>
        ))}
      </ol>
    </Panel>
  )
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

function gateText({ by }: Hold): string {
  const words = {
    user: 'paused by a person',
    approval: 'gate: waits for an approval',
    check: 'gate: waits for a check',
    gate: 'gate: closed by the results',
  } as const
  return words[by]
}
