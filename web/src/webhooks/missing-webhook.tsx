import { Link } from '@tanstack/react-router'
import { DeletedNote } from '../display/layout/deleted-note.tsx'
import { PageTitle } from '../display/layout/page-title.tsx'
import type { WebhookPlace } from './webhook.ts'

/** Shown where an old link leads to a webhook. */
export function MissingWebhook({ place: { orgId, siteId } }: { readonly place: WebhookPlace }) {
  return (
    <>
      <PageTitle
        title="No such webhook"
        above={
          <Link to="/orgs/$orgId/webhooks" params={{ orgId }} search={siteId === undefined ? {} : { site: siteId }}>
            Webhooks
          </Link>
        }
      />
      <DeletedNote orgId={orgId} noun="webhook" message="Delete Webhook" />
    </>
  )
}
