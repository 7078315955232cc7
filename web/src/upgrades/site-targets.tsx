import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useServer } from '../api/client.ts'
import { QueryView } from '../display/layout/query-view.tsx'
import { Row, RowName, RowSummary } from '../display/layout/row.tsx'
import { StateMark } from '../display/state-mark.tsx'
import { capital } from '../display/texts/capital.ts'
import { causeText } from '../display/texts/cause-text.ts'
import { plainText } from './linked-text.ts'
import { type Overview, kinds } from './overview.ts'
import { ExcludeButton, useExclusion } from './exclude-button.tsx'
import { begins } from './exclusion.ts'
import { excludeAtSite, listSiteTargets } from './site-target-calls.ts'
import { refetchType, upgradeIdIn, useLiveUpgrades } from './use-live-upgrades.ts'

interface SiteTargetsProps {
  readonly siteId: string
  readonly zone: string | undefined
  readonly upgrade: Overview
  readonly mayChange: boolean
  readonly onDone: () => Promise<void>
}

/** A site may have thousands of devices; those that say most come first. */
const SHOWN = 200

/** What an upgrade does with each device of a site, for people who can't open the page of the upgrade. */
export function SiteTargets(props: SiteTargetsProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <RowSummary>{capital(kinds[props.upgrade.kind].unit)}s</RowSummary>
      {isOpen && <TargetList {...props} />}
    </details>
  )
}

function TargetList({ siteId, zone, upgrade, mayChange, onDone }: SiteTargetsProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const [note, excluded] = useExclusion(onDone)
  const { id: upgradeId, kind } = upgrade
  const { unit } = kinds[kind]
  const mayExclude = mayChange && begins(upgrade)
  const queryKey = ['site upgrades', siteId, 'targets', upgradeId]
  const query = useQuery({ queryKey, queryFn: () => listSiteTargets(api, siteId, upgrade) })
  useLiveUpgrades(`/sites/${siteId}`, [kind], {
    onChange: (data) => upgradeIdIn(data) === upgradeId,
    read: () => queries.invalidateQueries({ queryKey, refetchType: refetchType() }),
  })
  return (
    <>
      {note}
      <QueryView query={query}>
        {(targets) => (
          <>
            <ul className="log">
              {targets.slice(0, SHOWN).map(({ id, name, state, reason, isWaiting }) => (
                <Row key={id} className="image-line">
                  <RowName>{name}</RowName>
                  <StateMark tone={state.tone}>{state.text}</StateMark>
                  {reason !== undefined && <span>{plainText(causeText(reason, zone))}</span>}
                  {mayExclude && isWaiting && (
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
    </>
  )
}
