import { useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { useWebhook, useWebhookCalls } from '../use-webhooks.ts'
import { pathOf, placeOf, titleOf } from '../webhook.ts'
import { MissingWebhook } from '../missing-webhook.tsx'
import { WebhookForm } from './webhook-form.tsx'
import { valuesOf } from './webhook-values.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/webhooks/$webhookId/edit')

export function EditWebhookPage() {
  const { orgId, webhookId } = route.useParams()
  const search = route.useSearch()
  const place = placeOf(orgId, search)
  const mayWrite = useMay('write', place)
  const query = useWebhook(place, webhookId)
  const calls = useWebhookCalls(place)
  const queries = useQueryClient()
  const navigate = useNavigate()
  const to = { to: '/orgs/$orgId/webhooks/$webhookId', params: { orgId, webhookId }, search } as const
  return (
    <QueryView query={query} rows={8} missing={<MissingWebhook place={place} />}>
      {(webhook) => (
        <>
          <PageTitle
            title={`Edit ${titleOf(webhook)}`}
            call={`${pathOf(place)}/webhooks/${webhookId}`}
            above={<Link {...to}>{titleOf(webhook)}</Link>}
          />
          {mayWrite ? (
            <WebhookForm
              before={valuesOf(webhook)}
              readAgain={async () => valuesOf(await calls.get(webhookId))}
              isNew={false}
              ofSite={place.siteId !== undefined}
              action="Save"
              save={async (body) => {
                await calls.update(webhookId, body)
                await queries.invalidateQueries()
                await navigate({ ...to, ignoreBlocker: true })
              }}
            />
          ) : (
            <EmptyState title="Your role does not change webhooks">An admin of the organization can.</EmptyState>
          )}
        </>
      )}
    </QueryView>
  )
}
