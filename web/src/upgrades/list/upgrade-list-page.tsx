import { Link, getRouteApi } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { counted } from '../../display/texts/counted.ts'
import { MoreButton } from '../../display/layout/more-button.tsx'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { type ListSearch, kinds, upgradeKinds } from '../overview.ts'
import { UpgradeRow } from '../upgrade-row.tsx'
import { useUpgrades } from '../use-upgrades.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/upgrades')

export function UpgradeListPage() {
  const { orgId } = route.useParams()
  const mayUpgrade = useMay('write', { orgId })
  const search = route.useSearch()
  const { kind, held } = search
  const upgrades = useUpgrades(orgId, { limit: 15, kind, held })
  const pages = upgrades.data?.pages ?? []
  const rows = pages.flatMap((page) => page.rows)
  return (
    <>
      <PageTitle
        title="Upgrades"
        call={callOf(orgId, search)}
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
      <div className="chip-rows">
        <KindChoice orgId={orgId} search={search} />
        <HeldChoice orgId={orgId} search={search} />
      </div>
      {upgrades.data === undefined && upgrades.error === null && <Skeleton rows={6} />}
      {upgrades.data === undefined && <ProblemNote problem={upgrades.error} />}
      {pages[0]?.total === 0 && <NoUpgrades orgId={orgId} search={search} mayUpgrade={mayUpgrade} />}
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

interface ChoiceProps {
  readonly orgId: string
  readonly search: ListSearch
}

/** Links that filter the list by what is upgraded. */
function KindChoice({ orgId, search: { kind: chosen, ...others } }: ChoiceProps) {
  return (
    <nav className="chips" aria-label="Upgrades by kind">
      {[undefined, ...upgradeKinds].map((kind) => (
        <Link
          key={kind ?? 'all'}
          to="/orgs/$orgId/upgrades"
          params={{ orgId }}
          search={{ ...others, ...(kind !== undefined && { kind }) }}
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

/** Links to all upgrades and to those that wait, for example for an approval. */
function HeldChoice({ orgId, search: { held: chosen, ...others } }: ChoiceProps) {
  return (
    <nav className="chips" aria-label="Upgrades by state">
      {[undefined, true as const].map((held) => (
        <Link
          key={String(held)}
          to="/orgs/$orgId/upgrades"
          params={{ orgId }}
          search={{ ...others, ...(held && { held }) }}
          replace
          className="chip"
          data-current={held === chosen || undefined}
          aria-current={held === chosen ? 'true' : undefined}
        >
          {held === undefined ? 'Any state' : <StateMark tone="warn">Waiting</StateMark>}
        </Link>
      ))}
    </nav>
  )
}

function callOf(orgId: string, { kind, held }: ListSearch): string {
  const query = new URLSearchParams({ ...(kind !== undefined && { kind }), ...(held && { held: 'true' }) }).toString()
  return `/orgs/${orgId}/upgrades${query === '' ? '' : `?${query}`}`
}

function NoUpgrades({ orgId, search: { kind, held }, mayUpgrade }: ChoiceProps & { readonly mayUpgrade: boolean }) {
  if (held)
    return (
      <EmptyState title="No upgrade waits">
        Those that wait for an approval, or that a person has paused, appear here.
      </EmptyState>
    )
  if (kind !== undefined)
    return <EmptyState title={`No upgrades of ${kinds[kind].unit}s yet`}>Choose another kind above.</EmptyState>
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
