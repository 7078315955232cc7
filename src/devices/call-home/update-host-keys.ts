import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { type HostKey, deleteHostKeys, insertHostKeys, listHostKeys, lockKeyedDevice } from './store.ts'

/**
 * Replaces the known host keys of a device. If the list is empty, the next connection with the organization's secret
 * sets the key.
 * @throws AppError not_found
 */
export function updateHostKeys(
  ctx: Context,
  scope: OrgScope,
  { deviceId, fingerprints }: { readonly deviceId: string; readonly fingerprints: readonly string[] },
): Promise<HostKey[]> {
  return inTx(ctx, async (tx) => {
    const device = await lockKeyedDevice(tx, scope, deviceId)
    if (device === undefined) throw notFound(deviceId)
    const before = (await listHostKeys(tx, scope, deviceId)).map(({ fingerprint }) => fingerprint)
    const at = ctx.clock.now()
    const dropped = before.filter((fingerprint) => !fingerprints.includes(fingerprint))
    await deleteHostKeys(tx, scope, { deviceId, fingerprints: dropped })
    await insertHostKeys(tx, scope, { deviceId, fingerprints, at })
    await appendAudit(tx, scope, {
      message: `Update the SSH host keys of device ${device.name ?? device.mac}`,
      siteId: device.siteId,
      deviceId,
      before: { ssh_host_keys: before },
      after: { ssh_host_keys: [...fingerprints].toSorted() },
      at,
    })
    return listHostKeys(tx, scope, deviceId)
  })
}
