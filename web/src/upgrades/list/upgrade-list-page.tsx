import { Button } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { counted } from '../../devices/device.ts'
import { EmptyState, ProblemNote, Skeleton } from '../../display/notices.tsx'
import { PageTitle } from '../../display/page-title.tsx'
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
      <PageTitle title="Upgrades">
        <span>{pages[0] === undefined ? ' ' : counted(pages[0].total, 'upgrade')}</span>
      </PageTitle>
      {upgrades.data === undefined && upgrades.error === null && <Skeleton rows={6} />}
      {upgrades.data === undefined && <ProblemNote problem={upgrades.error} />}
      {pages[0]?.total === 0 && <NoUpgrades mayUpgrade={mayUpgrade} />}
      {rows.length > 0 && (
        <ol className="upgrade-list">
          {rows.map(({ id }) => (
            <UpgradeRow key={id} orgId={orgId} upgradeId={id} />
          ))}
        </ol>
      )}
      {upgrades.hasNextPage && (
        <Button
          variant="default"
          size="xs"
          loading={upgrades.isFetchingNextPage}
          onClick={() => void upgrades.fetchNextPage()}
        >
          Show older ones
        </Button>
      )}
    </>
  )
}

function NoUpgrades({ mayUpgrade }: { readonly mayUpgrade: boolean }) {
  return (
    <EmptyState title="No upgrades yet">
      {mayUpgrade ? (
        <>
          Start one with <code>POST /api/v1/orgs/…/devices/upgrade</code>; the <a href="/docs">documentation</a> has its
          fields. It appears here at once.
        </>
      ) : (
        'Those that an admin starts appear here.'
      )}
    </EmptyState>
  )
}
