import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useServer } from '../api/client.ts'
import { QueryView } from '../display/layout/query-view.tsx'
import { Row, RowName, RowSummary } from '../display/layout/row.tsx'
import { StateMark } from '../display/state-mark.tsx'
import { capital } from '../display/texts/capital.ts'
import { causeText } from '../display/texts/cause-text.ts'
import { type Overview, kinds } from './overview.ts'
import { ExcludeButton, useExclusion } from './exclude-button.tsx'
import { isRunning } from './upgrade.ts'
import { excludeAtSite, listSiteTargets } from './site-target-calls.ts'

interface SiteTargetsProps {
  readonly siteId: string
  readonly upgrade: Overview
  readonly mayChange: boolean
  readonly onDone: () => Promise<void>
}

/** A site may have thousands of devices; those that say most come first. */
const SHOWN = 200

const READ_AGAIN_MS = 10_000

/** What an upgrade does with each device of a site, for people who can't open the page of the upgrade. */
export function SiteTargets({ siteId, upgrade, mayChange, onDone }: SiteTargetsProps) {
  const { api } = useServer()
  const [isOpen, setOpen] = useState(false)
  const [note, excluded] = useExclusion(onDone)
  const { unit } = kinds[upgrade.kind]
  const query = useQuery({
    queryKey: ['site upgrades', siteId, 'targets', upgrade.id],
    queryFn: () => listSiteTargets(api, siteId, upgrade),
    enabled: isOpen,
    refetchInterval: isRunning(upgrade.status) && READ_AGAIN_MS,
  })
  return (
    <details onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <RowSummary>{capital(unit)}s</RowSummary>
      {note}
      {isOpen && (
        <QueryView query={query}>
          {(targets) => (
            <>
              <ul className="log">
                {targets.slice(0, SHOWN).map(({ id, name, state, reason, isExcludable }) => (
                  <Row key={id} className="image-line">
                    <RowName>{name}</RowName>
                    <StateMark tone={state.tone}>{state.text}</StateMark>
                    {reason !== undefined && <span>{causeText(reason)}</span>}
                    {mayChange && isExcludable && (
                      <ExcludeButton
                        action="Exclude"
                        count={1}
                        unit={unit}
                        name={name}
                        exclude={(text) => excludeAtSite(api, siteId, { upgrade, id, note: text })}
                        onDone={excluded}
                      />
                    )}
                  </Row>
                ))}
              </ul>
              {targets.length > SHOWN && <p className="muted">and {targets.length - SHOWN} more</p>}
            </>
          )}
        </QueryView>
      )}
    </details>
  )
}
