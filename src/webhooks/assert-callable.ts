import type { InOrg } from '../access/scope.ts'
import { invalidField } from '../platform/errors.ts'
import type { OutboundHttp } from '../platform/outbound-http.ts'

/** @throws AppError invalid when the address may not be called. A name that can't be resolved now is allowed. */
export async function assertCallable(outbound: OutboundHttp, url: URL, { orgId }: InOrg): Promise<void> {
  const blocked = await outbound.findBlockedAddress(url, orgId)
  if (blocked !== null)
    throw invalidField('url', `address ${blocked} not in the public ranges nor in SIGNALBOX_WEBHOOK_ALLOW_CIDRS`)
}
