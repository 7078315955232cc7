import { Panel } from '../../../display/layout/panel.tsx'
import { Ago } from '../../../display/times/time.tsx'
import type { TimelineEntry } from './timeline.ts'
import { localText } from '../../../display/times/local-text.ts'
import { useTextZone } from '../../../display/times/text-zone.ts'

/** A canary upgrade may have a hundred phases. */
const SHOWN = 100

/** What happened to the upgrade, the latest first. */
export function TimelinePanel({ entries }: { readonly entries: readonly TimelineEntry[] }) {
  const zone = useTextZone()
  return (
    <Panel title="Timeline" aside={entries.length}>
      <ol className="log">
        {entries.slice(0, SHOWN).map(({ at, what, detail }, index) => (
          <li key={`${at}-${entries.length - index}`}>
            <div className="log-head">
              <span className="log-what">{localText(what, zone)}</span>
              <Ago at={at} />
            </div>
            {detail !== '' && <p>{localText(detail, zone)}</p>}
          </li>
        ))}
      </ol>
      {entries.length > SHOWN && <p className="plan-line muted">and {entries.length - SHOWN} before</p>}
    </Panel>
  )
}
