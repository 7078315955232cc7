import { Link } from '@tanstack/react-router'
import { EmptyState } from '../display/layout/notices.tsx'
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
      <EmptyState title="The webhook was deleted, or it never existed">
        The{' '}
        <Link to="/orgs/$orgId/audit" params={{ orgId }} search={{ message: 'Delete Webhook', period: '30d' }}>
          audit log
        </Link>{' '}
        names those who have deleted webhooks.
      </EmptyState>
    </>
  )
}
