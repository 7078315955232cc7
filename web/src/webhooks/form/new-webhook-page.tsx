import { useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { useWebhookCalls } from '../use-webhooks.ts'
import { placeOf } from '../webhook.ts'
import { WebhookForm } from './webhook-form.tsx'
import { emptyValues } from './webhook-values.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/webhooks/new')

export function NewWebhookPage() {
  const { orgId } = route.useParams()
  const search = route.useSearch()
  const place = placeOf(orgId, search)
  const mayWrite = useMay('write', place)
  const calls = useWebhookCalls(place)
  const queries = useQueryClient()
  const navigate = useNavigate()
  return (
    <>
      <PageTitle
        title="New webhook"
        above={
          <Link to="/orgs/$orgId/webhooks" params={{ orgId }} search={search}>
            Webhooks
          </Link>
        }
      />
      {mayWrite ? (
        <WebhookForm
          before={emptyValues}
          isNew
          ofSite={place.siteId !== undefined}
          action="Create the webhook"
          save={async (body) => {
            const { id } = await calls.create(body)
            await queries.invalidateQueries({ queryKey: ['webhooks', place] })
            const params = { orgId, webhookId: id }
            await navigate({ to: '/orgs/$orgId/webhooks/$webhookId', params, search, ignoreBlocker: true })
          }}
        />
      ) : (
        <EmptyState title="Your role does not create webhooks">An admin of the organization can.</EmptyState>
      )}
    </>
  )
}
