import { Link } from '@tanstack/react-router'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { UpgradeRow } from '../../upgrades/upgrade-row.tsx'
import { useUpgrades } from '../../upgrades/use-upgrades.ts'

const SHOWN = 3

/** The latest upgrades; those that run move. */
export function UpgradePanel({ orgId }: { readonly orgId: string }) {
  const { data, error } = useUpgrades(orgId, { limit: SHOWN })
  const rows = data?.pages[0]?.rows
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
    </Panel>
  )
}
