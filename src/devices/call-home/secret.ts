import type { Context } from '../../platform/context.ts'
import type { Reader } from '../../platform/database/db.ts'
import { findSecretGeneration } from './store.ts'

/**
 * Returns the secret by which new devices of the organization call home, in characters that Junos accepts without
 * quotes; undefined if there is no such organization.
 */
export async function findCallHomeSecret(
  ctx: Pick<Context, 'secrets'>,
  reader: Reader,
  orgId: string,
): Promise<string | undefined> {
  const generation = await findSecretGeneration(reader, orgId)
  return generation === undefined ? undefined : callHomeSecretOf(ctx, { orgId, generation })
}

export function callHomeSecretOf(
  { secrets }: Pick<Context, 'secrets'>,
  { orgId, generation }: { readonly orgId: string; readonly generation: number },
): string {
  return secrets.sign('call_home', `${orgId} ${generation}`).replaceAll(/[-_]/g, '').slice(0, 32)
}
