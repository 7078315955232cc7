import { systemScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { findFamily } from '../routers/store.ts'
import {
  countUnclaimedDevices,
  insertHostKeys,
  isRegistered,
  listDevicesByKey,
  listHostKeys,
  lockKeyedDevice,
} from './store.ts'

/** The protocol of devices that call home. */
const CALL_HOME_FAMILY = 'junos'

/** The maximum number of unclaimed devices that may use the secret, so that a leaked secret can't fill the registry. */
const MAX_UNCLAIMED = 1000

/** The proofs of a device at the time it has identified itself. */
export interface CallHomeProof {
  readonly deviceId: string
  /** The organization whose secret vouched for the host key; null: none. */
  readonly vouchingOrgId: string | null
  /** The fingerprint of the host key with which the device has authenticated. */
  readonly fingerprint: string
}

export type CallHomeDecision =
  | { readonly kind: 'admitted'; readonly orgId: string }
  /**
   * `unknown_key`: no secret vouched for the key, or the device has other known keys. `other_protocol`: the device does
   * not call home. `too_many`: the secret has vouched for too many unclaimed devices.
   */
  | { readonly kind: 'refused'; readonly why: 'unknown_key' | 'other_protocol' | 'too_many' }

/**
 * Decides which organization's device has called home. A key that the organization knows for the device suffices. The
 * secret of an organization suffices for a device without keys: the key becomes its key, so that no other device with
 * the same secret can act as this one. An unclaimed device gets no key: it may turn out to belong to another
 * organization. The secret proves nothing about devices that prove their identity by another protocol, nor about access
 * points.
 */
export async function admitDevice(ctx: Context, proof: CallHomeProof): Promise<CallHomeDecision> {
  const { deviceId, vouchingOrgId, fingerprint } = proof
  const known = (await listDevicesByKey(ctx.db, fingerprint)).get(deviceId)
  if (known !== undefined) return { kind: 'admitted', orgId: known }
  if (vouchingOrgId === null) return { kind: 'refused', why: 'unknown_key' }
  const scope = systemScope('gateway', vouchingOrgId)
  return inTx(ctx, async (tx): Promise<CallHomeDecision> => {
    const device = await lockKeyedDevice(tx, scope, deviceId)
    if (device === undefined) {
      const isNew = !(await isRegistered(tx, deviceId))
      return isNew && (await countUnclaimedDevices(tx, scope, MAX_UNCLAIMED)) === MAX_UNCLAIMED
        ? { kind: 'refused', why: 'too_many' }
        : { kind: 'admitted', orgId: vouchingOrgId }
    }
    const keys = await listHostKeys(tx, scope, deviceId)
    if (keys.some((key) => key.fingerprint === fingerprint)) return { kind: 'admitted', orgId: vouchingOrgId }
    if (keys.length > 0) return { kind: 'refused', why: 'unknown_key' }
    const family = (await findFamily(tx, deviceId)) ?? CALL_HOME_FAMILY
    if (device.type === 'ap' || family !== CALL_HOME_FAMILY) return { kind: 'refused', why: 'other_protocol' }
    const at = ctx.clock.now()
    await insertHostKeys(tx, scope, { deviceId, fingerprints: [fingerprint], at })
    await appendAudit(tx, scope, {
      message: `Device ${device.name ?? device.mac} called home for the first time; its SSH host key is now known`,
      siteId: device.siteId,
      deviceId,
      after: { mac: device.mac, fingerprint },
      at,
    })
    return { kind: 'admitted', orgId: vouchingOrgId }
  })
}
