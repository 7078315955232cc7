import type { Document } from '../../platform/json/document.ts'

/** The fields of webhooks that have addresses. */
const addressFields = ['url', 'oauth2_token_url'] as const

/** Returns the address without the part after its path, which often contains a password. */
export function withoutQuery(url: string): string {
  return /^[^?#]*/.exec(url)?.[0] ?? ''
}

/** Returns the addresses of a webhook without their queries, apart from those that `shown` has as they are. */
export function withoutQueries(doc: Document, shown: Document = {}): Record<string, string> {
  const hidden: Record<string, string> = {}
  for (const name of addressFields) {
    const url = doc[name]
    if (typeof url === 'string' && url !== shown[name]) hidden[name] = withoutQuery(url)
  }
  return hidden
}
