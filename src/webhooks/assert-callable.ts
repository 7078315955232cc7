import type { InOrg } from '../access/scope.ts'
import { invalidField } from '../platform/errors.ts'
import type { OutboundHttp } from '../platform/outbound-http.ts'
import type { Addresses } from './webhook.ts'

/**
 * @throws AppError invalid, which names the field, when one of the addresses may not be called. A name that can't be
 *   resolved now is allowed.
 */
export async function assertCallable(outbound: OutboundHttp, addresses: Addresses, { orgId }: InOrg): Promise<void> {
  const fields = { url: addresses.url, oauth2_token_url: addresses.tokenUrl }
  for (const [field, url] of Object.entries(fields)) {
    const blocked = url === null ? null : await outbound.findBlockedAddress(url, orgId)
    if (blocked !== null)
      throw invalidField(field, `address ${blocked} not in the public ranges nor in SIGNALBOX_WEBHOOK_ALLOW_CIDRS`)
  }
}
