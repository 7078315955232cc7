import { invalidField } from './errors.ts'
import type { OutboundHttp } from './outbound/outbound-http.ts'

// Parsers of addresses drop line breaks and tabs, so that another address would be called than the one that is shown.
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f]/

/**
 * Parses the address of something that the service calls.
 * @param hint Where credentials belong instead.
 * @throws AppError invalid naming the field.
 */
export function parseCallable(field: string, url: string, hint = ''): URL {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol))
    throw invalidField(field, 'must be an address of the form http://... or https://...')
  if (control.test(url.trim()))
    throw invalidField(field, 'may not contain line breaks, tabs or other control characters')
  if (parsed.username !== '' || parsed.password !== '')
    throw invalidField(field, `may not contain a user name or password${hint}`)
  return parsed
}

/**
 * @param urls Addresses by the field that names them.
 * @throws AppError invalid, which names the field, when one of the addresses may not be called. A name that can't be
 *   resolved now is allowed.
 */
export async function assertCallable(
  outbound: OutboundHttp,
  urls: Readonly<Record<string, URL | null>>,
  { orgId }: { readonly orgId: string },
): Promise<void> {
  for (const [field, url] of Object.entries(urls)) {
    const refusal = url === null ? null : await outbound.findRefusal(url, orgId)
    if (refusal !== null) throw invalidField(field, `${refusal}, and SIGNALBOX_WEBHOOK_ALLOW_CIDRS allows no other`)
  }
}
