import { TextInput } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { useMay } from '../../accounts/self.ts'
import { counted } from '../../display/texts/counted.ts'
import { MoreButton } from '../../display/layout/more-button.tsx'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { localText } from '../../display/times/local-text.ts'
import { SearchSelect } from '../../display/forms/search-select.tsx'
import { siteChoices, useSites } from '../../orgs/sites.ts'
import { REFRESH_MS, useWebhookCalls, useWebhookHealth } from '../use-webhooks.ts'
import {
  type SiteSearch,
  type Webhook,
  type WebhookFilter,
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
/** The number of failing webhooks beside the list is read more often. */
const HEALTH_MS = 30_000

/** The webhooks of the organization, or of one of its sites, and how they are doing. */
export function WebhookListPage() {
  const { orgId } = route.useParams()
  const { search, isKnown } = useShownPlace(orgId)
  const place = placeOf(orgId, search)
  const mayWrite = useMay('write', place)
  const { site: _, ...filter } = route.useSearch()
  const { failing } = filter
  const webhooks = useWebhooks(place, { filter, isKnown })
  const pages = webhooks.data?.pages ?? []
  const rows = pages.flatMap((page) => page.rows)
  return (
    <>
      <PageTitle
        title="Webhooks"
        call={callOf(place, filter)}
        actions={mayWrite && <NewLink orgId={orgId} search={search} />}
      >
        <span>
          {pages[0] === undefined ? ' ' : counted(pages[0].total, failing === true ? 'failing webhook' : 'webhook')}
        </span>
      </PageTitle>
      <div className="filters">
        <PlaceChoice orgId={orgId} search={search} />
        <NameSearch name={filter.name} />
        <FailingChoice orgId={orgId} place={place} search={search} isKnown={isKnown} filter={filter} />
      </div>
      {webhooks.data === undefined && webhooks.error === null && <Skeleton rows={4} />}
      {webhooks.data === undefined && <ProblemNote problem={webhooks.error} />}
      {pages[0]?.total === 0 && filter.name !== undefined && (
        <EmptyState title="No webhook matches">Its name has to contain what you search for.</EmptyState>
      )}
      {pages[0]?.total === 0 && filter.name === undefined && failing === true && (
        <EmptyState title="No webhook is failing">The receivers of all take their messages.</EmptyState>
      )}
      {pages[0]?.total === 0 && filter.name === undefined && failing === undefined && (
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
  const { site } = route.useSearch()
  const search = site === undefined ? {} : { site }
  const mayReadOrg = useMay('read', { orgId })
  const sites = useSites(orgId).data
  if (mayReadOrg || site !== undefined) return { search, isKnown: true }
  const [first] = sites?.keys() ?? []
  return { search: first === undefined ? {} : { site: first }, isKnown: sites !== undefined }
}

function callOf(place: WebhookPlace, { failing, name }: WebhookFilter): string {
  const query = new URLSearchParams({ ...(failing && { failing: 'true' }), ...(name !== undefined && { name }) })
  return `${pathOf(place)}/webhooks${query.size === 0 ? '' : `?${query.toString()}`}`
}

interface Shown {
  readonly filter: WebhookFilter
  readonly isKnown: boolean
}

function useWebhooks(place: WebhookPlace, { filter, isKnown }: Shown) {
  const calls = useWebhookCalls(place)
  return useInfiniteQuery({
    queryKey: ['webhooks', place, filter],
    enabled: isKnown,
    queryFn: ({ pageParam }) => calls.list(pageParam, SHOWN, filter),
    // As their number, which is beside the list.
    refetchInterval: filter.failing === true && REFRESH_MS,
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
    <SearchSelect
      isSmall
      label="Place"
      value={search.site ?? ''}
      choices={[...(mayReadOrg ? [{ value: '', label: 'The organization' }] : []), ...siteChoices(sites)]}
      onChange={(value) =>
        void navigate({
          search: ({ site: _, ...filter }) => ({ ...(value !== '' && { site: value }), ...filter }),
          replace: true,
        })
      }
    />
  )
}

/** Finds webhooks by their names among hundreds. */
function NameSearch({ name }: { readonly name: string | undefined }) {
  const navigate = useNavigate({ from: '/orgs/$orgId/webhooks' })
  const input = useRef<HTMLInputElement>(null)
  // Shows what the address says. Another input would lose the focus.
  useEffect(() => {
    if (input.current !== null) input.current.value = name ?? ''
  }, [name])
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const text = new FormData(event.currentTarget).get('name')
    void navigate({
      search: ({ name: _, ...others }) => ({
        ...others,
        ...(typeof text === 'string' && text !== '' && { name: text }),
      }),
      replace: true,
    })
  }
  return (
    <form className="name-search" role="search" aria-label="Webhooks" onSubmit={submit}>
      <TextInput ref={input} size="xs" type="search" name="name" aria-label="Name" placeholder="Name" />
      <Button type="submit" variant="default" size="xs">
        Search
      </Button>
    </form>
  )
}

interface FailingChoiceProps extends Shown {
  readonly orgId: string
  readonly place: WebhookPlace
  readonly search: SiteSearch
}

/** Links to all webhooks and to those that are failing, with their number: a page shows only a few of many. */
function FailingChoice({ orgId, place, search, filter: { failing, ...others }, isKnown }: FailingChoiceProps) {
  const calls = useWebhookCalls(place)
  const { data } = useQuery({
    queryKey: ['webhooks', place, 'failing count'],
    enabled: isKnown,
    queryFn: () => calls.list(1, 1, { failing: true }),
    refetchInterval: REFRESH_MS,
  })
  return (
    <nav className="chips" aria-label="Webhooks by health">
      {[undefined, true as const].map((only) => (
        <Link
          key={String(only)}
          to="/orgs/$orgId/webhooks"
          params={{ orgId }}
          search={{ ...search, ...others, ...(only && { failing: only }) }}
          replace
          className="chip"
          data-current={only === failing || undefined}
          aria-current={only === failing ? 'true' : undefined}
        >
          {only === undefined ? 'All' : <StateMark tone={data?.total === 0 ? 'idle' : 'bad'}>Failing</StateMark>}
          {only && data !== undefined && <span className="chip-count">{data.total.toLocaleString('en')}</span>}
        </Link>
      ))}
    </nav>
  )
}

interface WebhookRowProps {
  readonly place: WebhookPlace
  readonly webhook: Webhook
  readonly search: SiteSearch
}

function WebhookRow({ place, webhook, search }: WebhookRowProps) {
  const health = useWebhookHealth(place, webhook.id, HEALTH_MS).data
  const zone = useSites(place.orgId).data?.get(search.site ?? '')?.timezone
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
        {health?.reason !== undefined && <span>{localText(health.reason, zone)}</span>}
      </span>
      <span className="muted">{webhook.topics.join(', ')}</span>
      <span className="upgrade-figures muted">{health === undefined ? '' : `${pendingText(health)} waiting`}</span>
      {words === undefined ? <span /> : <StateMark tone={words.tone}>{words.text}</StateMark>}
    </li>
  )
}
