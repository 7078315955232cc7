import { Panel } from '../../display/layout/panel.tsx'
import { Ago } from '../../display/times/time.tsx'
import type { Report } from '../upgrade.ts'

type Decision = Report['decisions'][number]

/** The decisions of people and of the engine, the latest first. */
export function TimelinePanel({ report: { decisions } }: { readonly report: Report }) {
  return (
    <Panel title="Timeline" aside={decisions.length}>
      <ol className="log">
        {decisions.toReversed().map((decision, index) => (
          <li key={`${decision.timestamp}-${decisions.length - index}`}>
            <div className="log-head">
              <span className="log-what">{whatOf(decision)}</span>
              <Ago at={decision.timestamp} />
            </div>
            {detailOf(decision) !== '' && <p>{detailOf(decision)}</p>}
          </li>
        ))}
      </ol>
    </Panel>
  )
}

/** Returns a name such as `UPGRADE_PHASE_OPENED` as words: "Phase opened". */
function whatOf({ type, phase }: Decision): string {
  const words = type
    .replace(/^UPGRADE_/, '')
    .toLowerCase()
    .replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1) + (phase === undefined ? '' : ` · phase ${phase}`)
}

function detailOf({ name, reason, note }: Decision): string {
  return [name === undefined || name === 'rollout' ? undefined : `by ${name}`, reason, note]
    .filter((part) => part !== undefined && part !== '')
    .join(' · ')
}
