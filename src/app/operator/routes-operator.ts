import { X509Certificate } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { bootstrap } from '../../accounts/bootstrap.ts'
import { type DeviceCertificate, plainSerial } from '../../devices/certificates/certificate.ts'
import { recordIssuedCertificate, revokeCertificates } from '../../devices/certificates/revoke-certificates.ts'
import { listRevokedCertificates } from '../../devices/certificates/store.ts'
import { parseMac } from '../../devices/device.ts'
import { type RegisteredDevice, findUnclaimed, listUnclaimed } from '../../devices/registry/store.ts'
import { type RegisteredMxedge, findUnclaimedMxedge, listUnclaimedMxedges } from '../../mxedges/registry/store.ts'
import { acceptLargeBodies } from '../../http/bodies/body-limits.ts'
import { type Page, type Paged, pageQuery, parsePage, presentPage, setPageHeaders } from '../../http/lists/lists.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import { equalText } from '../../platform/secrets.ts'
import { retrySetAsideEvents } from '../../webhooks/routing/set-aside/retry-set-aside-events.ts'
import type { SetAsideEvent } from '../../events/store-outbox.ts'
import { listSetAsideEvents } from '../../webhooks/routing/set-aside/store-set-aside.ts'
import type { HttpParts } from '../http-parts.ts'
import { manifestRoutes } from './routes-manifest.ts'
import { metricsRoutes } from './routes-metrics.ts'
import { operatorFirmwareRoutes } from './routes-operator-firmware.ts'
import { statusRoutes } from './routes-status.ts'
import { storageRoutes } from './routes-storage.ts'

const BootstrapBody = Type.Object({
  email: Type.String({ minLength: 3, maxLength: 64, pattern: '^[^\\s@]+@[^\\s@]+$' }),
  password: Type.String({ minLength: 8, maxLength: 128 }),
  org: Type.String({ minLength: 1, maxLength: 200 }),
})

const text = Type.String({ minLength: 1, maxLength: 100 })

const RevokeBody = Type.Object({
  mac: text,
  serial: Type.Optional(Type.String({ pattern: '^[0-9A-Fa-f:]+$', maxLength: 100, description: 'hexadecimal' })),
})

/**
 * Operations of the operator, who proves read access to `operator.key` in the data folder by `Authorization: Operator
 * <key>`. The command line uses them.
 */
export function operatorRoutes(ctx: Context, parts: HttpParts): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.addHook('onRequest', async ({ headers }) => {
      const [scheme, key = ''] = (headers.authorization ?? '').split(' ', 2)
      if (scheme !== 'Operator' || !equalText(key, parts.operatorKey))
        throw new AppError('unauthenticated', 'The operator key was not provided')
    })
    acceptLargeBodies(http)

    http.post('/bootstrap', { schema: { hide: true, body: BootstrapBody } }, async ({ body }) => {
      const made = await bootstrap(ctx, parts.accounts.passwords, { ...body, orgName: body.org })
      return { admin_id: made.adminId, org_id: made.orgId, api_token: made.apiToken }
    })

    await http.register(manifestRoutes(ctx))
    await http.register(storageRoutes(ctx, parts.storage))
    await http.register(metricsRoutes(ctx))
    await http.register(statusRoutes(ctx, parts.listRefusals))
    await http.register(operatorFirmwareRoutes(ctx, parts.storage.firmwareFiles))

    for (const list of lists) registerList(http, ctx, list)
    const ofMac = { schema: { hide: true, params: Type.Object({ mac: text }) } }
    http.get('/unclaimed/:mac', ofMac, async ({ params: { mac } }) => {
      const device = await findUnclaimed(ctx.db, macOf(mac))
      if (device === undefined) throw new AppError('not_found', `No unclaimed device has the MAC ${mac}`)
      return presentUnclaimed(device)
    })
    http.get('/unclaimed-mxedges/:mac', ofMac, async ({ params: { mac } }) => {
      const mxedge = await findUnclaimedMxedge(ctx.db, macOf(mac))
      if (mxedge === undefined) throw new AppError('not_found', `No unclaimed edge appliance has the MAC ${mac}`)
      return presentUnclaimedMxedge(mxedge)
    })
    http.post('/set-aside-events/retry', { schema: { hide: true } }, async () => ({
      events: await retrySetAsideEvents(ctx),
    }))

    http.post(
      '/device-certificates',
      { schema: { hide: true, body: Type.Object({ mac: text }) } },
      async ({ body: { mac } }) => issueCertificate(ctx, parts.deviceCaDir, mac),
    )
    http.post('/device-certificates/revoke', { schema: { hide: true, body: RevokeBody } }, async ({ body }) => {
      const certificate = { mac: macOf(body.mac), serial: body.serial === undefined ? '' : plainSerial(body.serial) }
      await revokeCertificates(ctx, certificate)
      return presentCertificate(certificate)
    })
  }
}

/** A list of the operator, page by page. */
interface OperatorList {
  readonly path: string
  readonly read: (ctx: Context, page: Page) => Promise<Paged<object>>
}

function listOf<T>(
  path: string,
  list: (reader: Context['db'], page: Page) => Promise<Paged<T>>,
  present: (row: T) => object,
): OperatorList {
  return { path, read: async (ctx, page) => presentPage(await list(ctx.db, page), present) }
}

const lists = [
  listOf('/unclaimed', listUnclaimed, presentUnclaimed),
  listOf('/unclaimed-mxedges', listUnclaimedMxedges, presentUnclaimedMxedge),
  listOf('/revoked-certificates', listRevokedCertificates, ({ revokedAt, ...certificate }) => ({
    ...presentCertificate(certificate),
    revoked_time: epochS(revokedAt),
  })),
  listOf('/set-aside-events', listSetAsideEvents, presentSetAsideEvent),
]

function registerList(http: FastifyInstance, ctx: Context, { path, read }: OperatorList): void {
  const Query = Type.Object(pageQuery)
  http.get<{ Querystring: Static<typeof Query> }>(
    path,
    { schema: { hide: true, querystring: Query } },
    async ({ query }, reply) => {
      const page = parsePage(query)
      const found = await read(ctx, page)
      setPageHeaders(reply, page, found)
      return found.rows
    },
  )
}

function macOf(text: string): string {
  const mac = parseMac(text)
  if (mac === null) throw invalidField('mac', 'must be twelve hexadecimal digits')
  return mac
}

function presentUnclaimed({ mac, serial, model, type, claimCode, firmware, lastSeenAt }: RegisteredDevice) {
  const claim = { mac, serial, model, type, claim_code: claimCode }
  return { ...claim, firmware, last_seen: lastSeenAt && epochS(lastSeenAt) }
}

function presentUnclaimedMxedge({ mac, serial, model, claimCode }: RegisteredMxedge) {
  return { mac, serial, model, type: 'mxedge', claim_code: claimCode }
}

function presentCertificate({ mac, serial }: DeviceCertificate) {
  return { mac, ...(serial !== '' && { serial }) }
}

async function issueCertificate(ctx: Context, deviceCaDir: string | null, text: string) {
  const mac = macOf(text)
  if (deviceCaDir === null)
    throw new AppError('invalid', 'The device CA is your own (SIGNALBOX_UCENTRAL_CA): issue certificates with it')
  // Rarely needed, and its library takes several megabytes.
  const { issueDeviceCertificate, loadDeviceCa } = await import('../../gateway/certificates/device-ca.ts')
  const ca = await loadDeviceCa(deviceCaDir)
  const { certificatePem, keyPem } = await issueDeviceCertificate(ca, mac)
  const serial = plainSerial(new X509Certificate(certificatePem).serialNumber)
  await recordIssuedCertificate(ctx, { mac, serial })
  return { certificate: certificatePem, key: keyPem, ca: ca.certificatePem, serial }
}

function presentSetAsideEvent(event: SetAsideEvent) {
  return {
    id: event.id,
    org_id: event.orgId,
    site_id: event.siteId,
    topic: event.topic,
    bytes: event.bytes,
    created_time: epochS(event.createdAt),
    set_aside_time: event.setAsideAt && epochS(event.setAsideAt),
    reason: event.setAsideReason,
  }
}
