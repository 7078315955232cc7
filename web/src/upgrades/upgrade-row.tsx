import { counted, grouped } from '../display/texts/counted.ts'
import { ShareBar } from '../display/share-bar.tsx'
import { StateMark } from '../display/state-mark.tsx'
import { ViewerTime } from '../display/times/time.tsx'
import { type Overview, kinds, noteOf, sharesOf, standingOf } from './overview.ts'
import { stateOf } from './upgrade.ts'
import { Row, RowName } from '../display/layout/row.tsx'
import { UpgradeLink } from './upgrade-link.tsx'

/** An upgrade of any kind in a list. */
export function UpgradeRow({ orgId, upgrade }: { readonly orgId: string; readonly upgrade: Overview }) {
  const { kind, strategy, sites, start_time: start, counts } = upgrade
  const { text: kindText, unit } = kinds[kind]
  const note = noteOf(upgrade)
  const { tone, text } = stateOf(standingOf(upgrade))
  return (
    <Row className="upgrade-row">
      <div>
        <UpgradeLink orgId={orgId} upgrade={upgrade} />
        <RowName className="muted">
          {kind !== 'device' && <strong className="upgrade-kind">{kindText}</strong>}
          {strategy.replaceAll('_', ' ')} · {sites !== undefined && `${counted(sites, 'site')} · `}
          {counted(counts.total, unit)}
          {start !== undefined && (
            <>
              {' '}
              · from <ViewerTime at={start} />
            </>
          )}
        </RowName>
        {note !== undefined && <span>{note}</span>}
      </div>
      <ShareBar label={kindText} shares={sharesOf(counts)} />
      <span className="upgrade-figures">
        {grouped(counts.success)} upgraded
        {counts.skipped > 0 && `, ${grouped(counts.skipped)} skipped`}
        {counts.failed > 0 && <strong>, {grouped(counts.failed)} failed</strong>}
      </span>
      <StateMark tone={tone}>{text}</StateMark>
    </Row>
  )
}
