import { Link } from '@tanstack/react-router'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { waitingFirst } from '../../upgrades/overview.ts'
import { UpgradeRow } from '../../upgrades/upgrade-row.tsx'
import { useUpgradePages, useUpgrades } from '../../upgrades/use-upgrades.ts'

const SHOWN = 3

/** The upgrades that wait, because a person has to do something, and then the latest ones; those that run move. */
export function UpgradePanel({ orgId }: { readonly orgId: string }) {
  const latest = useUpgrades(orgId, { limit: SHOWN })
  const waiting = useUpgradePages(orgId, { limit: SHOWN, held: true })
  const [first, held] = [latest.data?.pages[0], waiting.data?.pages[0]]
  const error = latest.error ?? waiting.error
  const rows = first && held && waitingFirst(held.rows, first.rows)
  return (
    <Panel
      title="Upgrades"
      aside={
        <Link to="/orgs/$orgId/upgrades" params={{ orgId }}>
          All upgrades
        </Link>
      }
    >
      {rows === undefined && error === null && <Skeleton rows={2} />}
      {rows === undefined && <ProblemNote problem={error} />}
      {rows?.length === 0 && <EmptyState title="No upgrades yet" />}
      {rows !== undefined && rows.length > 0 && (
        <ol className="upgrade-list">
          {rows.map((upgrade) => (
            <UpgradeRow key={upgrade.id} orgId={orgId} upgrade={upgrade} />
          ))}
        </ol>
      )}
      {held !== undefined && held.total > SHOWN && (
        <p className="panel-buttons">
          <Link to="/orgs/$orgId/upgrades" params={{ orgId }} search={{ held: true }}>
            All {held.total.toLocaleString('en')} that wait
          </Link>
        </p>
      )}
    </Panel>
  )
}
