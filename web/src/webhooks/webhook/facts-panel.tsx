import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { Facts } from '../../display/layout/facts.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { SiteTime } from '../../display/times/time.tsx'
import { useTopics } from '../use-webhooks.ts'
import { type Webhook, isFetched, messagesPath, rateLimitText, textIn } from '../webhook.ts'

interface FactsPanelProps {
  readonly webhook: Webhook
  /** The time zone of the webhook's site; undefined for webhooks of the organization. */
  readonly zone: string | undefined
}

/** What is sent where, and how the receiver verifies it. */
export function FactsPanel({ webhook, zone }: FactsPanelProps) {
  const headers = webhook['headers']
  const names = typeof headers === 'object' && headers !== null ? Object.keys(headers).join(', ') : ''
  const { client_cert_expires_time: certificateEnd, former_secrets_until: formerUntil } = webhook
  const [lastFormer] = formerUntil ?? []
  const topics = useTopicsText(webhook)
  const url = textIn(webhook, 'url')
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Type', webhook.type],
    ['Address', url !== '' && <Address url={url} />],
    ['Topics', topics],
    ['Fetched by GET', isFetched(webhook) && <span className="mono">{messagesPath(webhook)}</span>],
    ['Certificate of the receiver', !isFetched(webhook) && (webhook.verify_cert ? 'is checked' : 'is not checked')],
    ['Client certificate', certificateEnd && <Until at={certificateEnd} zone={zone} />],
    ['Former secret signs', lastFormer && <Until at={lastFormer} zone={zone} />],
    ['Public key', webhook['ed25519_signatures'] === true && <PublicKey webhook={webhook} />],
    ['Headers', names],
    ['Filter', textIn(webhook, 'filter')],
    ['Order', textIn(webhook, 'order')],
    ['Rate limit', rateLimitText(webhook)],
  ]
  return (
    <Panel title="Configuration">
      <Facts facts={facts} />
    </Panel>
  )
}

/** Longer texts would push the rest of a narrow page away. */
const LONG = 300

function Address({ url }: { readonly url: string }) {
  if (url.length <= LONG) return url
  return (
    <div className="long-text" tabIndex={0} role="region" aria-label="Address">
      {url}
    </div>
  )
}

/** Returns the topics, with a note at those that this release has no events of. */
function useTopicsText({ topics }: Webhook): string {
  const unsentTopics = (useTopics().data ?? []).filter(({ emitted }) => !emitted)
  const unsent = new Set(unsentTopics.flatMap(({ key, aliases }) => aliases.concat(key)))
  return topics.map((topic) => (unsent.has(topic) ? `${topic} (not sent yet)` : topic)).join(', ') || 'none'
}

function Until({ at, zone }: { readonly at: number; readonly zone: string | undefined }) {
  return (
    <>
      until <SiteTime at={at} zone={zone} />
    </>
  )
}

/** The current key by which receivers verify messages. */
function PublicKey({ webhook: { org_id: orgId, id } }: Pick<FactsPanelProps, 'webhook'>) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['webhook keys', orgId, id],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/webhook_keys/{org_id}/{webhook_id}', { params: { path: { org_id: orgId, webhook_id: id } } }),
      ),
  })
  return <span className="mono">{query.data?.keys[0]?.public_key ?? ''}</span>
}
