import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useMay } from '../../accounts/self.ts'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { useSites } from '../../orgs/sites.ts'
import { counted } from '../../display/texts/counted.ts'
import { useLiveDevices } from '../use-live-devices.ts'
import { ColumnChoice } from './column-choice.tsx'
import { columnsIn } from './columns.ts'
import { CsvButton } from './csv-button.tsx'
import { DeviceFilters } from './device-filters.tsx'
import { type DeviceSearch, filtersOf, inventoryQuery } from '../device-search.ts'
import { DeviceTable } from './device-table.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/devices')

/** All devices of the organization. Pages of rows are read as they come into view, and states change by the stream. */
export function DeviceListPage() {
  const { orgId } = route.useParams()
  const search = route.useSearch()
  const devices = useDevices(orgId, search)
  const rows = useMemo(() => devices.data?.pages.flatMap(({ results }) => results) ?? [], [devices.data])
  const siteIds = useMemo(() => [...new Set(rows.flatMap(({ site_id: siteId }) => siteId ?? []))].toSorted(), [rows])
  const live = useLiveDevices(siteIds, { onGap: () => devices.refetch() })
  const sites = useSites(orgId)
  const navigate = useNavigate({ from: '/orgs/$orgId/devices' })
  const mayClaim = useMay('write', { orgId })
  const total = devices.data?.pages[0]?.total
  return (
    <div className="page-fill">
      <PageTitle
        title="Devices"
        call={callOf(orgId, search)}
        actions={
          <>
            <ColumnChoice
              chosen={search.columns}
              onChange={(chosen) =>
                void navigate({
                  search: ({ columns: _, ...others }) => ({
                    ...others,
                    ...(chosen !== undefined && { columns: chosen }),
                  }),
                  replace: true,
                })
              }
            />
            <CsvButton orgId={orgId} search={search} sites={sites.data} />
            {mayClaim && (
              <Link to="/orgs/$orgId/claim" params={{ orgId }} className="link-button">
                Claim devices
              </Link>
            )}
          </>
        }
      >
        <span aria-live="polite">{total === undefined ? ' ' : counted(total, 'device')}</span>
      </PageTitle>
      <DeviceFilters orgId={orgId} search={search} sites={sites.data} />
      {devices.data === undefined && devices.error === null && <Skeleton rows={12} />}
      {devices.data === undefined && <ProblemNote problem={devices.error} />}
      {total === 0 && <NoDevices orgId={orgId} isFiltered={Object.keys(filtersOf(search)).length > 0} />}
      {rows.length > 0 && (
        <DeviceTable
          orgId={orgId}
          rows={rows}
          total={total ?? rows.length}
          live={live}
          sites={sites.data}
          sort={search.sort ?? 'name'}
          columns={columnsIn(search.columns)}
          onNearEnd={() => {
            // The next page would interrupt a read of the others.
            if (devices.hasNextPage && !devices.isFetching) void devices.fetchNextPage()
          }}
        />
      )}
    </div>
  )
}

function useDevices(orgId: string, search: DeviceSearch) {
  const { api } = useServer()
  return useInfiniteQuery({
    queryKey: ['devices', orgId, filtersOf(search), search.sort],
    queryFn: ({ pageParam }): Promise<Schemas['InventorySearchResult']> =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/inventory/search', {
          params: { path: { org_id: orgId }, query: inventoryQuery(search, pageParam) },
        }),
      ),
    initialPageParam: 1,
    getNextPageParam: (last, _pages, page) => (last.next === undefined ? undefined : page + 1),
    // The former rows stay while the next filter is being applied.
    placeholderData: (former) => former,
  })
}

/** Returns the call that answers the first page of the list. */
function callOf(orgId: string, search: DeviceSearch): string {
  const query = Object.entries(inventoryQuery(search, 1)).map(([name, value]) => [name, String(value)])
  return `/orgs/${orgId}/inventory/search?${new URLSearchParams(query).toString()}`
}

function NoDevices({ orgId, isFiltered }: { readonly orgId: string; readonly isFiltered: boolean }) {
  if (isFiltered) return <EmptyState title="No device matches">Change or clear the filters.</EmptyState>
  return (
    <EmptyState title="No devices yet">
      <Link to="/orgs/$orgId/claim" params={{ orgId }}>
        Claim devices
      </Link>{' '}
      by their claim codes. To look around first, start the service with <code>npm start -- --demo</code>.
    </EmptyState>
  )
}
