import { systemScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { type AppError, invalidField } from '../../platform/errors.ts'
import { deviceIdOf, newClaimCode, plainMac } from '../device.ts'
import { claimDevicesIn } from '../inventory/claim-devices.ts'
import { isSsrModel } from '../registry/models.ts'
import type { RegisteredDevice } from '../registry/store.ts'
import { parseRegistrationCode } from './registration-code.ts'
import {
  countUnassignedRouters,
  findFamily,
  insertRegistered,
  insertRouterKey,
  listRouterKeys,
  lockRegistered,
  shareOrgOfCode,
} from './store.ts'

/** The protocol that routers speak; other devices can't become routers by registering. */
export const ROUTER_FAMILY = 'edge'

/** The maximum number of registered routers without a site, so that a leaked code can't fill the inventory. */
const MAX_UNASSIGNED = 1000

/** The data that a router sends to register. */
export interface RouterClaim {
  readonly code: string
  readonly mac: string
  readonly serial: string
  readonly model: string
  /** The hash of the key that has signed the request, in hex. */
  readonly keySha256: string
}

export interface RegisteredRouter {
  readonly deviceId: string
  readonly mac: string
}

/**
 * Registers a router for the organization of the code. An unknown device becomes a device of the organization; one of
 * its own SSR routers gets its key, but only once: the same key may register again, because an agent that did not
 * receive our answer has to repeat the request. Every other known device is refused, since the code proves nothing
 * about it.
 * @throws AppError invalid naming the field.
 */
export async function registerRouter(ctx: Context, claim: RouterClaim): Promise<RegisteredRouter> {
  const grant = parseRegistrationCode(ctx, claim.code)
  if (grant === null) throw unusable()
  const mac = plainMac(claim.mac)
  if (!isSsrModel(claim.model))
    throw invalidField('model', `${claim.model} is not a model of SSR routers, such as SSR120`)
  if (grant.assetIds !== null && !grant.assetIds.includes(claim.serial))
    throw invalidField('serial', `the code is not for the router ${claim.serial}`)
  const router = { deviceId: deviceIdOf(mac), mac }
  const scope = systemScope('gateway', grant.orgId)
  await inTx(ctx, async (tx) => {
    const at = ctx.clock.now()
    if (!(await shareOrgOfCode(tx, scope))) throw unusable()
    const known = await lockRegistered(tx, router.deviceId)
    if (known === undefined) await addRouter(tx, scope, { ...claim, ...router, at })
    else await assertRouterOf(tx, scope.orgId, known)
    const [key] = await listRouterKeys(tx, [router.deviceId])
    if (key?.keySha256 === claim.keySha256) return
    if (key !== undefined)
      throw invalidField('mac', `${mac} has registered with another key: unclaim the router before it registers anew`)
    await insertRouterKey(tx, scope, { deviceId: router.deviceId, keySha256: claim.keySha256, at })
    await appendAudit(tx, scope, {
      message: `Router ${mac} registered`,
      deviceId: router.deviceId,
      after: { mac, serial: claim.serial, model: claim.model, key_sha256: claim.keySha256 },
      at,
    })
  })
  return router
}

function unusable(): AppError {
  return invalidField('code', 'no routers may register with this code: it has expired, or was not made here')
}

type NewRouter = RouterClaim & RegisteredRouter & { readonly at: Date }

async function addRouter(
  tx: Tx,
  scope: ReturnType<typeof systemScope>,
  { deviceId, mac, serial, model, at }: NewRouter,
): Promise<void> {
  if ((await countUnassignedRouters(tx, scope)) >= MAX_UNASSIGNED)
    throw invalidField('code', `${MAX_UNASSIGNED} routers have registered that are in no site: assign them first`)
  const claimCode = newClaimCode()
  const device = { id: deviceId, mac, serial, model: model.toUpperCase(), type: 'gateway' as const }
  const inserted = await insertRegistered(tx, { ...device, claimCode, codeOrigin: 'generated', createdAt: at })
  if (!inserted) throw known(mac)
  await claimDevicesIn(tx, scope, { codes: [claimCode], at })
}

/** @throws AppError invalid unless the device is an SSR router of the organization. */
async function assertRouterOf(tx: Tx, orgId: string, device: RegisteredDevice): Promise<void> {
  if (device.orgId !== orgId) throw known(device.mac)
  if (!isSsrModel(device.model))
    throw invalidField('mac', `${device.mac} has the model ${device.model}, which is no SSR router`)
  const family = await findFamily(tx, device.id)
  if (family !== undefined && family !== ROUTER_FAMILY)
    throw invalidField('mac', `${device.mac} has connected by another protocol, ${family}`)
}

/** The text does not depend on the owner of the device, nor on whether there is one. */
function known(mac: string): AppError {
  return invalidField('mac', `${mac} is known already, and not in the inventory of this organization: claim it first`)
}
