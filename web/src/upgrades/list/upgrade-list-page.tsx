import { Link, getRouteApi } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { counted } from '../../display/texts/counted.ts'
import { MoreButton } from '../../display/layout/more-button.tsx'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { UpgradeRow } from '../upgrade-row.tsx'
import { useUpgrades } from '../use-upgrades.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/upgrades')

export function UpgradeListPage() {
  const { orgId } = route.useParams()
  const mayUpgrade = useMay('write', { orgId })
  const upgrades = useUpgrades(orgId, 15)
  const pages = upgrades.data?.pages ?? []
  const rows = pages.flatMap((page) => page.rows)
  return (
    <>
      <PageTitle
        title="Upgrades"
        call={`/orgs/${orgId}/devices/upgrade`}
        actions={
          mayUpgrade && (
            <Link to="/orgs/$orgId/upgrades/new" params={{ orgId }} className="link-button">
              New upgrade
            </Link>
          )
        }
      >
        <span>{pages[0] === undefined ? ' ' : counted(pages[0].total, 'upgrade')}</span>
      </PageTitle>
      {upgrades.data === undefined && upgrades.error === null && <Skeleton rows={6} />}
      {upgrades.data === undefined && <ProblemNote problem={upgrades.error} />}
      {pages[0]?.total === 0 && <NoUpgrades orgId={orgId} mayUpgrade={mayUpgrade} />}
      {rows.length > 0 && (
        <ol className="upgrade-list">
          {rows.map(({ id }) => (
            <UpgradeRow key={id} orgId={orgId} upgradeId={id} />
          ))}
        </ol>
      )}
      <MoreButton query={upgrades}>Show older ones</MoreButton>
    </>
  )
}

function NoUpgrades({ orgId, mayUpgrade }: { readonly orgId: string; readonly mayUpgrade: boolean }) {
  return (
    <EmptyState title="No upgrades yet">
      {mayUpgrade ? (
        <>
          <Link to="/orgs/$orgId/upgrades/new" params={{ orgId }}>
            Plan the first one
          </Link>
          : nothing starts before you have seen its plan.
        </>
      ) : (
        'Those that an admin starts appear here.'
      )}
    </EmptyState>
  )
}
