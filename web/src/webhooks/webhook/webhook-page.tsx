import { Button } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { ConfirmButton } from '../../display/confirm-button.tsx'
import { ProblemNote } from '../../display/notices.tsx'
import { PageTitle } from '../../display/page-title.tsx'
import { Panel } from '../../display/panel.tsx'
import { QueryView } from '../../display/query-view.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { useWebhook, useWebhookCalls, useWebhookHealth } from '../use-webhooks.ts'
import {
  type Health,
  type Webhook,
  type WebhookPlace,
  healthWords,
  pathOf,
  placeOf,
  rateLimitText,
  textIn,
  titleOf,
  pendingText,
} from '../webhook.ts'
import { useSites } from '../../orgs/sites.ts'
import { DeliveryPanel } from './delivery-panel.tsx'
import { HealthPanel } from './health-panel.tsx'
import { ParkedPanel } from './parked-panel.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/webhooks/$webhookId')

/** The health of a webhook, its requests, and their answers. */
export function WebhookPage() {
  const { orgId, webhookId } = route.useParams()
  const search = route.useSearch()
  const place = placeOf(orgId, search)
  const query = useWebhook(place, webhookId)
  const health = useWebhookHealth(place, webhookId).data
  const mayWrite = useMay('write', place)
  const zone = useSites(orgId).data?.get(search.site ?? '')?.timezone
  return (
    <QueryView query={query} rows={8}>
      {(webhook) => (
        <>
          <WebhookTitle place={place} webhook={webhook} health={health} mayWrite={mayWrite} />
          {health?.reason !== undefined && <p className="note">{health.reason}</p>}
          <div className="columns">
            {health !== undefined && <HealthPanel health={health} />}
            <FactsPanel webhook={webhook} />
          </div>
          <ParkedPanel place={place} id={webhookId} isEnabled={webhook.enabled} mayWrite={mayWrite} zone={zone} />
          <DeliveryPanel
            place={place}
            id={webhookId}
            topics={webhook.topics}
            search={search}
            mayWrite={mayWrite}
            zone={zone}
          />
        </>
      )}
    </QueryView>
  )
}

interface WebhookTitleProps {
  readonly place: WebhookPlace
  readonly webhook: Webhook
  readonly health: Health | undefined
  readonly mayWrite: boolean
}

function WebhookTitle({ place, webhook, health, mayWrite }: WebhookTitleProps) {
  const { orgId, siteId } = place
  const site = siteId === undefined ? {} : { site: siteId }
  const words = health && healthWords[health.state]
  return (
    <PageTitle
      title={titleOf(webhook)}
      call={`${pathOf(place)}/webhooks/${webhook.id}`}
      above={
        <Link to="/orgs/$orgId/webhooks" params={{ orgId }} search={site}>
          Webhooks
        </Link>
      }
      actions={
        mayWrite && (
          <>
            <PingButton place={place} id={webhook.id} />
            <Link
              to="/orgs/$orgId/webhooks/$webhookId/edit"
              params={{ orgId, webhookId: webhook.id }}
              search={site}
              className="link-button"
            >
              Edit
            </Link>
            <DeleteButton place={place} webhook={webhook} health={health} />
          </>
        )
      }
    >
      {words !== undefined && <StateMark tone={words.tone}>{words.text}</StateMark>}
    </PageTitle>
  )
}

function PingButton({ place, id }: { readonly place: WebhookPlace; readonly id: string }) {
  const calls = useWebhookCalls(place)
  const queries = useQueryClient()
  const mutation = useMutation({
    mutationFn: () => calls.ping(id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhook deliveries', place, id] }),
  })
  return (
    <>
      <Button variant="default" size="xs" loading={mutation.isPending} onClick={() => mutation.mutate()}>
        Send a test message
      </Button>
      <ProblemNote problem={mutation.error} />
    </>
  )
}

interface DeleteButtonProps {
  readonly place: WebhookPlace
  readonly webhook: Webhook
  readonly health: Health | undefined
}

function DeleteButton({ place, webhook, health }: DeleteButtonProps) {
  const calls = useWebhookCalls(place)
  const queries = useQueryClient()
  const navigate = useNavigate()
  return (
    <ConfirmButton
      action="Delete"
      isDestructive
      effect={{
        does: 'Deletes',
        counts: [{ count: 1, one: 'webhook' }],
        name: titleOf(webhook),
        consequences: [
          'Its delivery log is deleted, too.',
          health === undefined
            ? 'Waiting and undelivered messages are never sent.'
            : `Waiting messages (${pendingText(health)}) and undelivered ones (${health.parked.toLocaleString('en')}) are never sent.`,
        ],
        isFinal: true,
      }}
      run={async () => {
        await calls.remove(webhook.id)
        await queries.invalidateQueries({ queryKey: ['webhooks', place] })
        const { orgId, siteId } = place
        await navigate({
          to: '/orgs/$orgId/webhooks',
          params: { orgId },
          search: siteId === undefined ? {} : { site: siteId },
        })
      }}
    />
  )
}

function FactsPanel({ webhook }: { readonly webhook: Webhook }) {
  const headers = webhook['headers']
  const names = typeof headers === 'object' && headers !== null ? Object.keys(headers).join(', ') : ''
  const facts: readonly (readonly [string, string])[] = [
    ['Type', webhook.type],
    ['Address', textIn(webhook, 'url')],
    ['Topics', webhook.topics.join(', ') || 'none'],
    ['Certificate of the receiver', webhook.verify_cert ? 'is checked' : 'is not checked'],
    ['Headers', names],
    ['Filter', textIn(webhook, 'filter')],
    ['Order', textIn(webhook, 'order')],
    ['Rate limit', rateLimitText(webhook)],
  ]
  return (
    <Panel title="Configuration">
      <dl className="facts">
        {facts.map(([name, value]) =>
          value === '' ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
    </Panel>
  )
}
