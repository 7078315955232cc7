import { Link, getRouteApi } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { counted } from '../../display/texts/counted.ts'
import { MoreButton } from '../../display/layout/more-button.tsx'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { type UpgradeKind, kinds, upgradeKinds } from '../overview.ts'
import { UpgradeRow } from '../upgrade-row.tsx'
import { useUpgrades } from '../use-upgrades.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/upgrades')

export function UpgradeListPage() {
  const { orgId } = route.useParams()
  const mayUpgrade = useMay('write', { orgId })
  const { kind } = route.useSearch()
  const upgrades = useUpgrades(orgId, { limit: 15, kind })
  const pages = upgrades.data?.pages ?? []
  const rows = pages.flatMap((page) => page.rows)
  return (
    <>
      <PageTitle
        title="Upgrades"
        call={`/orgs/${orgId}/upgrades${kind === undefined ? '' : `?kind=${kind}`}`}
        actions={
          mayUpgrade && (
            <Link
              to="/orgs/$orgId/upgrades/new"
              params={{ orgId }}
              search={kind === undefined ? {} : { kind }}
              className="link-button"
            >
              New upgrade
            </Link>
          )
        }
      >
        <span>{pages[0] === undefined ? ' ' : counted(pages[0].total, 'upgrade')}</span>
      </PageTitle>
      <KindChoice orgId={orgId} chosen={kind} />
      {upgrades.data === undefined && upgrades.error === null && <Skeleton rows={6} />}
      {upgrades.data === undefined && <ProblemNote problem={upgrades.error} />}
      {pages[0]?.total === 0 && kind === undefined && <NoUpgrades orgId={orgId} mayUpgrade={mayUpgrade} />}
      {pages[0]?.total === 0 && kind !== undefined && (
        <EmptyState title={`No upgrades of ${kinds[kind].unit}s yet`}>Choose another kind above.</EmptyState>
      )}
      {rows.length > 0 && (
        <ol className="upgrade-list">
          {rows.map((upgrade) => (
            <UpgradeRow key={upgrade.id} orgId={orgId} upgrade={upgrade} />
          ))}
        </ol>
      )}
      <MoreButton query={upgrades}>Show older ones</MoreButton>
    </>
  )
}

interface KindChoiceProps {
  readonly orgId: string
  readonly chosen: UpgradeKind | undefined
}

/** Links that filter the list by what is upgraded. */
function KindChoice({ orgId, chosen }: KindChoiceProps) {
  return (
    <nav className="chips" aria-label="Upgrades by kind">
      {[undefined, ...upgradeKinds].map((kind) => (
        <Link
          key={kind ?? 'all'}
          to="/orgs/$orgId/upgrades"
          params={{ orgId }}
          search={kind === undefined ? {} : { kind }}
          replace
          className="chip"
          data-current={kind === chosen || undefined}
          aria-current={kind === chosen ? 'true' : undefined}
        >
          {kind === undefined ? 'All' : kinds[kind].text}
        </Link>
      ))}
    </nav>
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
