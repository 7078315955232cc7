import { NativeSelect, TextInput } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useRef } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { answerOf, useServer } from '../../api/client.ts'
import { counted } from '../../display/texts/counted.ts'
import { MoreButton } from '../../display/layout/more-button.tsx'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { Table } from '../../display/layout/table.tsx'
import { ViewerTime } from '../../display/times/time.tsx'
import { type Site, useSites } from '../../orgs/sites.ts'
import { Row, RowName, RowSummary } from '../../display/layout/row.tsx'
import { ChangeText } from '../change-text.tsx'
import type { LogEntry } from '../subject.ts'
import { findDifferences } from './differences.ts'
import { type LogSearch, parseLogSearch } from './log-search.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/audit')

const SHOWN = 50

/** Changes with their authors, and the values before and after. */
export function LogPage() {
  const { orgId } = route.useParams()
  const search = route.useSearch()
  const entries = useLog(orgId, search)
  const sites = useSites(orgId).data
  const pages = entries.data?.pages ?? []
  const rows = pages.flatMap(({ results }) => results)
  return (
    <>
      <PageTitle title="Audit log" call={`/orgs/${orgId}/logs`}>
        <span>{pages[0] === undefined ? ' ' : counted(pages[0].total, 'entry', 'entries')}</span>
      </PageTitle>
      <LogFilters key={JSON.stringify(search)} search={search} />
      {entries.data === undefined && entries.error === null && <Skeleton rows={8} />}
      {entries.data === undefined && <ProblemNote problem={entries.error} />}
      {pages[0]?.total === 0 && (
        <EmptyState title="No change matches">Choose a longer period, or fewer filters.</EmptyState>
      )}
      {rows.length > 0 && (
        <ol className="panel log">
          {rows.map((entry) => (
            <LogLine key={entry.id} orgId={orgId} entry={entry} site={sites?.get(entry.site_id ?? '')} />
          ))}
        </ol>
      )}
      <MoreButton query={entries}>Show older ones</MoreButton>
    </>
  )
}

function useLog(orgId: string, { message, admin, period = '7d' }: LogSearch) {
  const { api } = useServer()
  return useInfiniteQuery({
    queryKey: ['audit log', orgId, message, admin, period],
    queryFn: ({ pageParam: { page, end } }) =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/logs', {
          params: {
            path: { org_id: orgId },
            query: {
              duration: period,
              limit: SHOWN,
              page,
              // Later pages continue the list of the first one, whatever has happened since.
              ...(end !== null && { end }),
              ...(message !== undefined && { message }),
              ...(admin !== undefined && { admin_name: admin }),
            },
          },
        }),
      ),
    initialPageParam: { page: 1, end: null as string | null },
    getNextPageParam: ({ total, end }, pages) =>
      pages.length * SHOWN < total ? { page: pages.length + 1, end: String(end) } : undefined,
  })
}

function LogFilters({ search }: { readonly search: LogSearch }) {
  const navigate = useNavigate({ from: '/orgs/$orgId/audit' })
  const form = useRef<HTMLFormElement>(null)
  function submit(event?: FormEvent): void {
    event?.preventDefault()
    if (form.current === null) return
    void navigate({ search: parseLogSearch(Object.fromEntries(new FormData(form.current))), replace: true })
  }
  return (
    <form className="filters" role="search" aria-label="Audit log" ref={form} onSubmit={submit}>
      <TextInput
        size="xs"
        type="search"
        name="message"
        aria-label="Change"
        placeholder="Change"
        defaultValue={search.message}
      />
      <TextInput
        size="xs"
        type="search"
        name="admin"
        aria-label="Person"
        placeholder="Person"
        defaultValue={search.admin}
      />
      <NativeSelect
        size="xs"
        name="period"
        aria-label="Period"
        defaultValue={search.period ?? '7d'}
        data={[
          { value: '1d', label: 'A day' },
          { value: '7d', label: '7 days' },
          { value: '30d', label: '30 days' },
        ]}
        onChange={() => submit()}
      />
      <Button type="submit" variant="default" size="xs">
        Search
      </Button>
    </form>
  )
}

interface LogLineProps {
  readonly orgId: string
  readonly entry: LogEntry
  /** Undefined for changes of the organization, and of sites that are deleted. */
  readonly site: Site | undefined
}

function LogLine({ orgId, entry, site }: LogLineProps) {
  const differences = findDifferences(entry.before, entry.after)
  return (
    <Row>
      <RowName className="log-head">
        <span className="log-what">
          <ChangeText orgId={orgId} entry={entry} />
        </span>
        <ViewerTime at={entry.timestamp} siteZone={site?.timezone} />
      </RowName>
      <p>{[entry.admin_name, entry.site_name, entry.src_ip].filter(Boolean).join(' · ')}</p>
      {differences.length > 0 && (
        <details>
          <RowSummary>Before and after</RowSummary>
          <Table
            rows={differences}
            keyOf={({ field }) => field}
            columns={[
              { title: 'Field', renderCell: ({ field }) => field },
              { title: 'Before', cellClassName: 'value', renderCell: ({ before }) => before ?? '–' },
              { title: 'After', cellClassName: 'value', renderCell: ({ after }) => after ?? '–' },
            ]}
          />
        </details>
      )}
    </Row>
  )
}
