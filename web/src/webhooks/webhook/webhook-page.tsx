import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { Button } from '../../display/forms/button.tsx'
import { useMay } from '../../accounts/self.ts'
import { isMissing } from '../../api/problem.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { localText } from '../../display/times/local-text.ts'
import { MissingWebhook } from '../missing-webhook.tsx'
import { parkedText } from '../parked.ts'
import { useWebhook, useWebhookCalls, useWebhookHealth } from '../use-webhooks.ts'
import {
  type Health,
  type Webhook,
  type WebhookPlace,
  healthWordsOf,
  isFetched,
  noDeliveryText,
  pathOf,
  placeOf,
  titleOf,
  pendingText,
} from '../webhook.ts'
import { useSites } from '../../orgs/sites.ts'
import { DeliveryPanel } from './delivery-panel.tsx'
import { FactsPanel } from './facts-panel.tsx'
import { HealthPanel } from './health-panel.tsx'
import { ParkedPanel } from './parked-panel.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/webhooks/$webhookId')

/** The health of a webhook, its requests, and their answers. */
export function WebhookPage() {
  const { orgId, webhookId } = route.useParams()
  const search = route.useSearch()
  const place = placeOf(orgId, search)
  const query = useWebhook(place, webhookId)
  // Another person may delete the webhook while the page is open.
  const { data: health, error: healthError } = useWebhookHealth(place, webhookId)
  const mayWrite = useMay('write', place)
  const zone = useSites(orgId).data?.get(search.site ?? '')?.timezone
  const missing = <MissingWebhook place={place} />
  if (isMissing(healthError)) return missing
  return (
    <QueryView query={query} rows={8} missing={missing}>
      {(webhook) => (
        <>
          <WebhookTitle place={place} webhook={webhook} health={health} mayWrite={mayWrite} />
          {health?.reason !== undefined && <p className="note">{localText(health.reason, zone)}</p>}
          <div className="columns">
            {health !== undefined && <HealthPanel place={place} id={webhookId} health={health} />}
            <FactsPanel webhook={webhook} zone={zone} />
          </div>
          <ParkedPanel place={place} id={webhookId} isEnabled={webhook.enabled} mayWrite={mayWrite} zone={zone} />
          <DeliveryPanel
            place={place}
            id={webhookId}
            topics={webhook.topics}
            emptyText={noDeliveryText(webhook)}
            isEnabled={webhook.enabled}
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
  const words = health && healthWordsOf(health)
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
            {!webhook.enabled && <EnableButton place={place} id={webhook.id} health={health} />}
            <PingButton place={place} webhook={webhook} />
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

interface PingButtonProps {
  readonly place: WebhookPlace
  readonly webhook: Webhook
}

function PingButton({ place, webhook }: PingButtonProps) {
  const { id } = webhook
  const calls = useWebhookCalls(place)
  const queries = useQueryClient()
  const mutation = useMutation({
    mutationFn: () => calls.ping(id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhook deliveries', place, id] }),
  })
  return (
    <>
      <Button variant="default" size="xs" isBusy={mutation.isPending} onClick={() => mutation.mutate()}>
        Send a test message
      </Button>
      <span role="status" className="muted">
        {mutation.isSuccess &&
          (isFetched(webhook) ? 'It waits for its receiver' : 'It is on its way: its result appears below')}
      </span>
      <ProblemNote problem={mutation.error} />
    </>
  )
}

interface EnableButtonProps {
  readonly place: WebhookPlace
  readonly id: string
  readonly health: Health | undefined
}

function EnableButton({ place, id, health }: EnableButtonProps) {
  const calls = useWebhookCalls(place)
  const queries = useQueryClient()
  const waiting = health === undefined ? '' : ` Waiting messages (${pendingText(health)}) are sent now.`
  const parked = health === undefined || health.parked === 0 ? '' : ' Undelivered ones are sent by "Send all again".'
  return (
    <ConfirmButton
      action="Enable"
      isPrimary
      effect={`Sends events again from now on.${waiting}${parked} Events that happened while the webhook was disabled are not sent.`}
      run={async () => {
        await calls.update(id, { enabled: true })
        await queries.invalidateQueries()
      }}
    />
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
          "Its delivery log can't be read any more.",
          health === undefined
            ? 'Waiting and undelivered messages are never sent.'
            : `Waiting messages (${pendingText(health)}) and undelivered ones (${parkedText(health.parked)}) are never sent.`,
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
