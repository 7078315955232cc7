import { NativeSelect } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { counted } from '../../display/texts/counted.ts'
import { MoreButton } from '../../display/layout/more-button.tsx'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { useSites } from '../../orgs/sites.ts'
import { useWebhookCalls, useWebhookHealth } from '../use-webhooks.ts'
import {
  type SiteSearch,
  type Webhook,
  type WebhookPlace,
  healthWordsOf,
  pathOf,
  placeOf,
  textIn,
  titleOf,
  pendingText,
} from '../webhook.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/webhooks')

/** Each row reads the health of its webhook. */
const SHOWN = 25

/** The webhooks of the organization, or of one of its sites, and how they are doing. */
export function WebhookListPage() {
  const { orgId } = route.useParams()
  const { search, isKnown } = useShownPlace(orgId)
  const place = placeOf(orgId, search)
  const mayWrite = useMay('write', place)
  const webhooks = useWebhooks(place, isKnown)
  const pages = webhooks.data?.pages ?? []
  const rows = pages.flatMap((page) => page.rows)
  return (
    <>
      <PageTitle
        title="Webhooks"
        call={`${pathOf(place)}/webhooks`}
        actions={mayWrite && <NewLink orgId={orgId} search={search} />}
      >
        <span>{pages[0] === undefined ? ' ' : counted(pages[0].total, 'webhook')}</span>
      </PageTitle>
      <PlaceChoice orgId={orgId} search={search} />
      {webhooks.data === undefined && webhooks.error === null && <Skeleton rows={4} />}
      {webhooks.data === undefined && <ProblemNote problem={webhooks.error} />}
      {pages[0]?.total === 0 && (
        <EmptyState title="No webhooks here">
          A webhook sends events to your program: upgrades, devices that connect or disconnect, changes by people.
          <NewLink orgId={orgId} search={search} />
        </EmptyState>
      )}
      {rows.length > 0 && (
        <ol className="upgrade-list">
          {rows.map((webhook) => (
            <WebhookRow key={webhook.id} place={place} webhook={webhook} search={search} />
          ))}
        </ol>
      )}
      <MoreButton query={webhooks} />
    </>
  )
}

/** A role in single sites shows the first of them where the address names none. */
function useShownPlace(orgId: string): { readonly search: SiteSearch; readonly isKnown: boolean } {
  const search = route.useSearch()
  const mayReadOrg = useMay('read', { orgId })
  const sites = useSites(orgId).data
  if (mayReadOrg || search.site !== undefined) return { search, isKnown: true }
  const [first] = sites?.keys() ?? []
  return { search: first === undefined ? {} : { site: first }, isKnown: sites !== undefined }
}

function useWebhooks(place: WebhookPlace, isKnown: boolean) {
  const calls = useWebhookCalls(place)
  return useInfiniteQuery({
    queryKey: ['webhooks', place],
    enabled: isKnown,
    queryFn: ({ pageParam }) => calls.list(pageParam, SHOWN),
    initialPageParam: 1,
    getNextPageParam: ({ total }, pages) => (pages.length * SHOWN < total ? pages.length + 1 : undefined),
  })
}

function NewLink({ orgId, search }: { readonly orgId: string; readonly search: SiteSearch }) {
  return (
    <Link to="/orgs/$orgId/webhooks/new" params={{ orgId }} search={search} className="link-button">
      New webhook
    </Link>
  )
}

/** Webhooks of a site get only events of this site. */
function PlaceChoice({ orgId, search }: { readonly orgId: string; readonly search: SiteSearch }) {
  const navigate = useNavigate({ from: '/orgs/$orgId/webhooks' })
  const sites = useSites(orgId).data
  const mayReadOrg = useMay('read', { orgId })
  return (
    <div className="filters">
      <NativeSelect
        size="xs"
        aria-label="Place"
        value={search.site ?? ''}
        data={[
          ...(mayReadOrg ? [{ value: '', label: 'The organization' }] : []),
          ...[...(sites?.values() ?? [])].map(({ id, name }) => ({ value: id, label: name })),
        ]}
        onChange={({ currentTarget: { value } }) =>
          void navigate({ search: value === '' ? {} : { site: value }, replace: true })
        }
      />
    </div>
  )
}

interface WebhookRowProps {
  readonly place: WebhookPlace
  readonly webhook: Webhook
  readonly search: SiteSearch
}

function WebhookRow({ place, webhook, search }: WebhookRowProps) {
  const health = useWebhookHealth(place, webhook.id).data
  const words = health && healthWordsOf(health)
  return (
    <li className="upgrade-row">
      <span>
        <Link
          to="/orgs/$orgId/webhooks/$webhookId"
          params={{ orgId: place.orgId, webhookId: webhook.id }}
          search={search}
        >
          {titleOf(webhook)}
        </Link>
        <span className="muted one-line">{textIn(webhook, 'url')}</span>
        {health?.reason !== undefined && <span>{health.reason}</span>}
      </span>
      <span className="muted">{webhook.topics.join(', ')}</span>
      <span className="upgrade-figures muted">{health === undefined ? '' : `${pendingText(health)} waiting`}</span>
      {words === undefined ? <span /> : <StateMark tone={words.tone}>{words.text}</StateMark>}
    </li>
  )
}
