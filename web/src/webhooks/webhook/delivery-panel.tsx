import { NativeSelect } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { MoreButton } from '../../display/layout/more-button.tsx'
import { EmptyState, ProblemNote } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { grouped } from '../../display/texts/counted.ts'
import { SiteTime } from '../../display/times/time.tsx'
import { useNow } from '../../display/times/use-now.ts'
import { REFRESH_MS, useWebhookCalls } from '../use-webhooks.ts'
import { type Delivery, type WebhookPlace, latestAttempts, resultText } from '../webhook.ts'
import { SHOWN, describePages, nextLimit } from './delivery-pages.ts'
import { ReplayPeriodButton } from './replay-period-button.tsx'
import { DEFAULT_PERIOD, type DeliverySearch, periodWords } from '../delivery-search.ts'
import { Row, RowName, RowSummary, useRowLabel } from '../../display/layout/row.tsx'

interface DeliveryPanelProps {
  readonly place: WebhookPlace
  readonly id: string
  readonly topics: readonly string[]
  /** When deliveries appear, where there is none yet. */
  readonly emptyText: string
  readonly isEnabled: boolean
  readonly search: DeliverySearch
  readonly mayWrite: boolean
  /** The time zone of the webhook's site; undefined for webhooks of the organization. */
  readonly zone: string | undefined
}

/** The last attempts, with requests and answers. */
export function DeliveryPanel({ place, id, topics, emptyText, isEnabled, search, mayWrite, zone }: DeliveryPanelProps) {
  const calls = useWebhookCalls(place)
  const [limit, setLimit] = useState(SHOWN)
  const query = useQuery({
    queryKey: ['webhook deliveries', place, id, search, limit],
    queryFn: () => calls.deliveries(id, search, limit),
    // New attempts are not polled while older ones are shown.
    refetchInterval: limit === SHOWN ? REFRESH_MS : false,
    // The previous rows stay while the next filter is being applied.
    placeholderData: (former) => former,
  })
  const latest = search.status === undefined ? latestAttempts(query.data?.results ?? []) : new Set()
  const pages = describePages({ shown: query.data?.results.length ?? 0, total: query.data?.total ?? 0 })
  const shown =
    query.data && (query.data.total > limit ? `the last ${limit} of ${grouped(query.data.total)}` : query.data.total)
  return (
    <Panel title="Deliveries" aside={shown}>
      <DeliveryFilters topics={topics} search={search} />
      <QueryView query={query}>
        {({ results }) =>
          results.length === 0 ? (
            <EmptyState title={isFiltered(search) ? 'No delivery matches' : 'No delivery within a day'}>
              {emptyText}
            </EmptyState>
          ) : (
            <ol className="log">
              {results.map((delivery) => (
                <DeliveryLine
                  key={delivery.id}
                  delivery={delivery}
                  isRepeated={isEnabled && latest.has(delivery.id)}
                  zone={zone}
                  {...(mayWrite &&
                    delivery.topic !== 'ping' && {
                      replay: (ids: string[]) => calls.replay(id, { status: 'delivered', ids }),
                    })}
                />
              ))}
            </ol>
          )
        }
      </QueryView>
      <div className="panel-buttons">
        <MoreButton
          query={{
            hasNextPage: pages.hasMore,
            isFetchingNextPage: query.isPlaceholderData,
            fetchNextPage: () => setLimit(nextLimit(limit)),
          }}
          end={pages.end}
        >
          Show older ones
        </MoreButton>
        {mayWrite && (query.data?.total ?? 0) > 0 && (
          <ReplayPeriodButton place={place} id={id} isEnabled={isEnabled} search={search} />
        )}
      </div>
    </Panel>
  )
}

function isFiltered({ status, topic, period }: DeliverySearch): boolean {
  return status !== undefined || topic !== undefined || period !== undefined
}

function DeliveryFilters({ topics, search }: Pick<DeliveryPanelProps, 'topics' | 'search'>) {
  const navigate = useNavigate({ from: '/orgs/$orgId/webhooks/$webhookId' })
  const filters = [
    {
      name: 'status',
      label: 'Result',
      data: [
        { value: '', label: 'Any result' },
        { value: 'success', label: 'Delivered' },
        { value: 'failure', label: 'Failed' },
      ],
    },
    { name: 'topic', label: 'Topic', data: [{ value: '', label: 'All topics' }, ...['ping', ...topics]] },
    { name: 'period', label: 'Period', data: periodWords },
  ] as const
  return (
    <div className="filters panel-filters">
      {filters.map(({ name, label, data }) => (
        <NativeSelect
          key={name}
          size="xs"
          aria-label={label}
          value={search[name] ?? (name === 'period' ? DEFAULT_PERIOD : '')}
          data={[...data]}
          onChange={({ currentTarget: { value } }) =>
            void navigate({ search: (current) => ({ ...current, [name]: value }), replace: true })
          }
        />
      ))}
    </div>
  )
}

interface DeliveryLineProps {
  readonly delivery: Delivery
  /** Whether the next attempt is still to come. */
  readonly isRepeated: boolean
  readonly zone: string | undefined
  /** Absent if the role may not, and for test messages, which are sent once. */
  readonly replay?: (ids: string[]) => Promise<unknown>
}

function DeliveryLine({ delivery, isRepeated, zone, replay }: DeliveryLineProps) {
  const { topic, status, error, attempt, duration_ms: durationMs, timestamp, next_attempt: next } = delivery
  const isTaken = status === 'success'
  const figures = [
    attempt !== undefined && attempt > 1 && `attempt ${attempt}`,
    durationMs !== undefined && `${durationMs} ms`,
    delivery.remote_address !== undefined && `to ${delivery.remote_address}`,
    error,
    !isTaken && next === undefined && 'no further attempt',
  ]
  return (
    <Row>
      <div className="log-head">
        <span className="mono">{topic}</span>
        <StateMark tone={isTaken ? 'good' : 'bad'}>{resultText(delivery)}</StateMark>
      </div>
      <p>
        <RowName>
          <SiteTime at={timestamp} zone={zone} />
          {figures.filter(Boolean).map((figure) => ` · ${String(figure)}`)}
        </RowName>
        {next !== undefined && isRepeated && <NextAttempt at={next} zone={zone} />}
      </p>
      <details>
        <RowSummary>Request and response</RowSummary>
        {delivery.req_headers === '' ? (
          <p>The request and the response are no longer stored.</p>
        ) : (
          <Exchange title={`POST ${delivery.req_url}`} headers={delivery.req_headers} body={delivery.req_payload} />
        )}
        {delivery.resp_headers !== undefined && (
          <Exchange
            title={`Response ${delivery.status_code ?? ''}`}
            headers={delivery.resp_headers}
            body={delivery.resp_body ?? ''}
          />
        )}
        {isTaken && replay !== undefined && delivery.message_id !== undefined && (
          <ReplayButton messageId={delivery.message_id} replay={replay} />
        )}
      </details>
    </Row>
  )
}

/** Shows nothing once the time has passed. */
function NextAttempt({ at, zone }: { readonly at: number; readonly zone: string | undefined }) {
  if (at <= useNow()) return null
  return (
    <>
      {' · next attempt '}
      <SiteTime at={at} zone={zone} />
    </>
  )
}

function Exchange({
  title,
  headers,
  body,
}: {
  readonly title: string
  readonly headers: string
  readonly body: string
}) {
  return (
    <section className="exchange">
      <h3>{title}</h3>
      <pre tabIndex={0} aria-label={`Headers of ${title}`}>
        {headersText(headers)}
      </pre>
      <pre tabIndex={0} aria-label={`Body of ${title}`}>
        {indented(body)}
      </pre>
    </section>
  )
}

function headersText(headers: string): string {
  const fields = JSON.parse(headers) as Readonly<Record<string, unknown>>
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join('\n')
}

/** The body of an answer may contain anything, and is truncated at a limit. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}

function ReplayButton({
  messageId,
  replay,
}: {
  readonly messageId: string
  readonly replay: DeliveryLineProps['replay']
}) {
  const label = useRowLabel()
  const mutation = useMutation({ mutationFn: async () => replay?.([messageId]) })
  return (
    <p>
      <Button variant="default" size="xs" {...label} isBusy={mutation.isPending} onClick={() => mutation.mutate()}>
        Send it again
      </Button>{' '}
      {mutation.isSuccess && <span role="status">It waits to be sent, with the same id and bytes.</span>}
      <ProblemNote problem={mutation.error} />
    </p>
  )
}
