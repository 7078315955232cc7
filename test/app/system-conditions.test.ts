import { X509Certificate, randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemScope } from '../../src/access/scope.ts'
import { type WatchedParts, certificatesOf, watchConditions } from '../../src/app/conditions/system-conditions.ts'
import { openStorage } from '../../src/app/storage.ts'
import { DEFAULT_DOWNLOAD_LIMITS } from '../../src/firmware/downloads/download-limits.ts'
import { deleteOrg } from '../../src/removal/delete-org.ts'
import { type GatewayTls, makeCa, issueGatewayTls } from '../../src/gateway/certificates/device-ca.ts'
import { addMs } from '../../src/platform/time/clock.ts'
import { documentText } from '../../src/platform/sealing/document-column.ts'
import { type SeededOrg, seedOrg } from '../support/fleets/fleet.ts'
import { type TestContext, createTestContext } from '../support/servers/server.ts'
import { selfSigned, withoutEnd } from '../webhooks/self-signed.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'

const GIB = 1024 ** 3
const HOUR_MS = 3600e3

let clock: TestClock
let context: TestContext
let org: SeededOrg
let other: SeededOrg
let empty: SeededOrg
beforeEach(async () => {
  clock = createTestClock()
  context = await createTestContext(clock)
  org = await seedOrg(context.ctx, [{ devices: 1 }])
  other = await seedOrg(context.ctx, [{ devices: 1 }])
  empty = await seedOrg(context.ctx, [{ devices: 0 }])
  // The seeded images have no files.
  await mkdir(join(context.dataDir, 'firmware'))
  for (const { imageId } of [org, other, empty]) await writeFile(fileOf(imageId), 'image')
})
afterEach(() => context.close())

const fileOf = (imageId: string): string => join(context.dataDir, 'firmware', imageId)
const roomy = { orgMaxBytes: 100 * GIB, totalMaxBytes: 1000 * GIB }

function partsOf(changes: Partial<Pick<WatchedParts, 'certificates'>> & { readonly reserveBytes?: number } = {}) {
  const { certificates = [], reserveBytes: diskReserveBytes = 0 } = changes
  const firmwareTrust = { keys: [], isRequired: false }
  const limits = { firmware: roomy, pictures: roomy, support: roomy, diskReserveBytes }
  const settings = {
    firmwareMaxBytes: GIB,
    firmwareTrust,
    firmwareDownloads: DEFAULT_DOWNLOAD_LIMITS,
    s3: null,
    ...limits,
  }
  return { storage: openStorage(context.ctx, context.dataDir, settings), certificates }
}

async function createGatewayTls(): Promise<GatewayTls> {
  const ca = await makeCa()
  return { ...(await issueGatewayTls(ca, ['localhost'])), ca: ca.certificatePem }
}

const watch = (changes?: Parameters<typeof partsOf>[0]): Promise<void> => watchConditions(context.ctx, partsOf(changes))

/** The types of the events of an organization, the oldest first. */
async function typesOf({ scope: { orgId } }: SeededOrg): Promise<string[]> {
  const rows = await context.ctx.db
    .selectFrom('systemEvent')
    .select('type')
    .where('orgId', '=', orgId)
    .orderBy('createdAt')
    .orderBy('id')
    .execute()
  return rows.map(({ type }) => type)
}

/** Adds an enabled webhook of `org`, with an idle lane. @returns Its id. */
async function addWebhook(doc: Record<string, string>, siteId: string | null = null): Promise<string> {
  const { orgId } = org.scope
  const [id, at] = ['0193a1c0-0000-7000-8000-0000000000aa', clock.now()]
  const row = { orgId, id, siteId, enabled: true, topics: [], doc: documentText(doc), secrets: null }
  await context.ctx.db
    .insertInto('webhook')
    .values({ ...row, createdAt: at, modifiedAt: at })
    .execute()
  await context.ctx.db.insertInto('webhookLane').values({ orgId, webhookId: id }).execute()
  return id
}

async function lastTextOf({ scope: { orgId } }: SeededOrg): Promise<string | undefined> {
  const row = await context.ctx.db
    .selectFrom('systemEvent')
    .select('text')
    .where('orgId', '=', orgId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .executeTakeFirst()
  return row?.text
}

describe('a condition of the server', () => {
  const certificates = () => [{ of: 'the HTTPS server', notAfter: addMs(clock.now(), 24 * HOUR_MS) }]

  it('is reported once to each organization with devices, and so is its end', async () => {
    await watch({ certificates: certificates() })
    await Promise.all([watch({ certificates: certificates() }), watch({ certificates: certificates() })])
    expect(await typesOf(org)).toEqual(['CERTIFICATE_EXPIRING'])
    expect(await typesOf(other)).toEqual(['CERTIFICATE_EXPIRING'])
    expect(await typesOf(empty)).toEqual([])
    clock.advance(1000)
    await watch()
    await watch()
    expect(await typesOf(org)).toEqual(['CERTIFICATE_EXPIRING', 'CERTIFICATE_RENEWED'])
    expect(await lastTextOf(org)).toBe('The certificate of the HTTPS server has been replaced')
    clock.advance(1000)
    await watch({ certificates: certificates() })
    expect(await typesOf(org)).toHaveLength(3)
  })

  it('does not end for an organization that has given up its devices meanwhile', async () => {
    await watch({ certificates: certificates() })
    await context.ctx.db.deleteFrom('device').where('orgId', '=', org.scope.orgId).execute()
    await watch({ certificates: certificates() })
    expect(await typesOf(org)).toEqual(['CERTIFICATE_EXPIRING'])
  })

  it('is that the disk is nearly full', async () => {
    await watch({ reserveBytes: Number.MAX_SAFE_INTEGER })
    expect(await typesOf(org)).toEqual(['DISK_SPACE_LOW'])
    clock.advance(1000)
    await watch()
    expect(await typesOf(org)).toEqual(['DISK_SPACE_LOW', 'DISK_SPACE_RECOVERED'])
  })

  it('disappears with its organization', async () => {
    await watch({ certificates: certificates() })
    const { orgId } = other.scope
    await context.ctx.db.deleteFrom('device').where('orgId', '=', orgId).execute()
    await context.ctx.db.updateTable('deviceRegistry').set({ orgId: null }).where('orgId', '=', orgId).execute()
    await deleteOrg(context.ctx, systemScope('operator', other.scope.orgId))
    await watch()
    expect(await typesOf(other)).toEqual([])
    expect(await typesOf(org)).toHaveLength(2)
  })

  it('is that the CA of devices ends within a year, long before the certificates that it signs are refused', async () => {
    const gateway = await createGatewayTls()
    const certificates = certificatesOf({ http: null, gateway, edge: gateway })
    const caEndMs = new X509Certificate(gateway.ca).validToDate.getTime()
    const ofCa = async () => {
      await watch({ certificates: certificates.filter(({ of }) => of === 'the CA of devices') })
      return typesOf(org)
    }
    clock.advance(caEndMs - 366 * 24 * HOUR_MS - clock.now().getTime())
    expect(await ofCa()).toEqual([])
    clock.advance(2 * 24 * HOUR_MS)
    expect(await ofCa()).toEqual(['CERTIFICATE_EXPIRING'])
    const date = new Date(caEndMs).toISOString().slice(0, 10)
    expect(await lastTextOf(org)).toBe(`The certificate of the CA of devices expires on ${date}`)
    const alarms = await context.ctx.db.selectFrom('alarm').select(['orgId', 'type']).execute()
    expect(alarms).toContainEqual({ orgId: org.scope.orgId, type: 'certificate_expiring' })
  })

  it('can be read from the certificates that the server uses', async () => {
    const gateway = await createGatewayTls()
    const found = certificatesOf({ http: gateway, gateway, edge: gateway })
    expect(found.map(({ of }) => of)).toEqual(['the HTTPS server', 'the gateway for devices', 'the CA of devices'])
    for (const { notAfter } of found) expect(notAfter.getTime()).toBeGreaterThan(Date.now())
    expect(certificatesOf({ http: null, gateway, edge: gateway })).toHaveLength(2)
  })

  it('can be read from the certificates of agents, if devices have others', async () => {
    const [gateway, edge] = [await createGatewayTls(), await createGatewayTls()]
    const found = certificatesOf({ http: null, gateway, edge })
    const ofAgents = ['the gateway for agents', 'the CA of agents']
    expect(found.map(({ of }) => of)).toEqual(['the gateway for devices', 'the CA of devices', ...ofAgents])
    expect(found.map(({ notAfter }) => notAfter)).toEqual(
      [gateway.cert, gateway.ca, edge.cert, edge.ca].map((pem) => new X509Certificate(pem).validToDate),
    )
    const withSharedCa = certificatesOf({ http: null, gateway: { ...gateway, ca: edge.ca }, edge })
    expect(withSharedCa.map(({ of }) => of)).not.toContain('the CA of agents')
  })

  it('can be read from every certificate of a file', async () => {
    const [gateway, next] = [await createGatewayTls(), await createGatewayTls()]
    const bundle = { ...gateway, cert: `${gateway.cert}\n${gateway.ca}`, ca: `${gateway.ca}\n${next.ca}` }
    const found = certificatesOf({ http: null, gateway: bundle, edge: bundle })
    expect(found.map(({ of }) => of)).toEqual([
      'the gateway for devices',
      'the gateway for devices (number 2 in its file)',
      'the CA of devices',
      'the CA of devices (number 2 in its file)',
    ])
    expect(found.map(({ notAfter }) => notAfter)).toEqual(
      [gateway.cert, gateway.ca, gateway.ca, next.ca].map((pem) => new X509Certificate(pem).validToDate),
    )
  })
})

describe('a condition of one organization', () => {
  it('is that its files need nearly all their space', async () => {
    const { orgId } = org.scope
    const set = (sizeBytes: number) =>
      context.ctx.db
        .updateTable('firmwareImage')
        .set({ sizeBytes: String(sizeBytes) })
        .where('orgId', '=', orgId)
        .execute()
    await set(95 * GIB)
    await watch()
    expect(await lastTextOf(org)).toBe('Firmware images of the organization use 95.0 of 100.0 GiB')
    clock.advance(1000)
    await set(87 * GIB)
    await watch()
    expect(await typesOf(org)).toEqual(['STORAGE_QUOTA_NEARLY_FULL'])
    clock.advance(1000)
    await set(50 * GIB)
    await watch()
    expect(await typesOf(org)).toEqual(['STORAGE_QUOTA_NEARLY_FULL', 'STORAGE_QUOTA_RECOVERED'])
    expect(await typesOf(other)).toEqual([])
  })

  it('is that all organizations together need nearly all space', async () => {
    const { orgId } = empty.scope
    await context.ctx.db
      .updateTable('firmwareImage')
      .set({ sizeBytes: String(990 * GIB) })
      .where('orgId', '=', orgId)
      .execute()
    await watch()
    expect(await lastTextOf(org)).toBe('Firmware images of all organizations use 990.0 of 1000.0 GiB')
  })

  it('is that the file of an image is missing, until it is restored', async () => {
    await rm(fileOf(org.imageId))
    await watch()
    expect(await lastTextOf(org)).toContain(`firmware image ${org.imageId} is missing`)
    clock.advance(1000)
    await writeFile(fileOf(org.imageId), 'image')
    await watch()
    expect(await typesOf(org)).toEqual(['FIRMWARE_IMAGE_MISSING', 'FIRMWARE_IMAGE_RESTORED'])
  })

  it('is that a webhook fails for an hour: of its site, if it has one', async () => {
    const { orgId } = org.scope
    const { db } = context.ctx
    const siteId = org.sites[0]?.id ?? ''
    const at = clock.now()
    const id = await addWebhook({ name: 'Alerts' }, siteId)
    await db.updateTable('webhookLane').set({ pending: 1, failures: 3, nextAt: at }).execute()
    const message = { orgId, id, webhookId: id, topic: 'audits', body: Buffer.from('{}'), eventCount: 1 }
    await db
      .insertInto('webhookMessage')
      .values({ ...message, dueAt: at, createdAt: at })
      .execute()
    clock.advance(HOUR_MS)
    await watch()
    expect(await typesOf(org)).toEqual([])
    clock.advance(1)
    await watch()
    const [event] = await db.selectFrom('systemEvent').selectAll().execute()
    expect(event).toMatchObject({ orgId, siteId, type: 'WEBHOOK_FAILING', text: expect.stringContaining('"Alerts"') })
    const alarms = await db.selectFrom('alarm').select(['type', 'details']).execute()
    expect(alarms).toEqual([{ type: 'webhook_failing', details: { webhook_id: id } }])
    clock.advance(1000)
    // Its message still waits.
    await db.updateTable('webhook').set({ enabled: false }).execute()
    await watch()
    expect(await typesOf(org)).toEqual(['WEBHOOK_FAILING', 'WEBHOOK_RECOVERED'])
    const ended = await db.selectFrom('systemEvent').select('text').where('type', '=', 'WEBHOOK_RECOVERED').execute()
    expect(ended).toEqual([{ text: 'Webhook "Alerts" no longer fails, or has been disabled or deleted' }])
  })

  it('is that a receiver requests pauses for an hour and accepts nothing, although no attempt counts as a failure', async () => {
    const { orgId } = org.scope
    const { db } = context.ctx
    const id = await addWebhook({ name: 'Alerts' })
    const at = clock.now()
    await db.updateTable('webhookLane').set({ pending: 1, nextAt: at }).execute()
    const message = { orgId, id, webhookId: id, topic: 'audits', body: Buffer.from('{}'), eventCount: 1 }
    await db
      .insertInto('webhookMessage')
      .values({ ...message, dueAt: at, createdAt: at })
      .execute()
    const attempt = (status: 'success' | 'failure', createdAt: Date) =>
      db
        .insertInto('webhookDelivery')
        .values({
          orgId,
          id: randomUUID(),
          webhookId: id,
          messageId: id,
          topic: 'audits',
          attempt: 1,
          status,
          reqUrl: '',
          createdAt,
        })
        .execute()
    await attempt('success', at)
    await attempt('failure', addMs(at, 1))
    clock.advance(HOUR_MS)
    await watch()
    expect(await typesOf(org)).toEqual([])
    clock.advance(1)
    await watch()
    expect(await typesOf(org)).toEqual(['WEBHOOK_FAILING'])
    clock.advance(1000)
    // A message that fails again and again shows nothing about a receiver that accepts others.
    await attempt('success', addMs(clock.now(), -1))
    await attempt('failure', clock.now())
    await db.updateTable('webhookLane').set({ failures: 1 }).execute()
    await watch()
    expect(await typesOf(org)).toEqual(['WEBHOOK_FAILING', 'WEBHOOK_RECOVERED'])
  })

  it('reports a webhook that drops messages, and its end after an hour without', async () => {
    const id = await addWebhook({ name: 'Alerts' })
    await context.ctx.db.updateTable('webhookLane').set({ overflowed: '3', overflowedAt: clock.now() }).execute()
    await watch()
    expect(await typesOf(org)).toEqual(['WEBHOOK_OVERFLOWING'])
    const alarms = await context.ctx.db.selectFrom('alarm').selectAll().execute()
    expect(alarms).toMatchObject([{ type: 'webhook_overflowing', details: { webhook_id: id } }])
    clock.advance(HOUR_MS + 1)
    await watch()
    expect(await typesOf(org)).toEqual(['WEBHOOK_OVERFLOWING', 'WEBHOOK_OVERFLOW_ENDED'])
  })

  it('is reported although the client certificate of a webhook has no valid end', async () => {
    const { cert } = await selfSigned('10.0.0.1')
    await addWebhook({ client_cert: withoutEnd(cert) })
    await context.ctx.db.updateTable('webhookLane').set({ overflowed: '3', overflowedAt: clock.now() }).execute()
    await watch()
    expect(await typesOf(org)).toEqual(['WEBHOOK_OVERFLOWING'])
  })

  it('is that the client certificate of an enabled webhook expires, until it is disabled', async () => {
    const { cert } = await selfSigned('10.0.0.1')
    const id = await addWebhook({ name: 'Alerts', client_cert: cert })
    clock.advance(new X509Certificate(cert).validToDate.getTime() - 31 * 24 * HOUR_MS - clock.now().getTime())
    await watch()
    expect(await typesOf(org)).toEqual([])
    clock.advance(2 * 24 * HOUR_MS)
    await watch()
    expect(await typesOf(org)).toEqual(['WEBHOOK_CERTIFICATE_EXPIRING'])
    expect(await lastTextOf(org)).toMatch(/^The client certificate of webhook "Alerts" expires on /)
    const alarms = await context.ctx.db.selectFrom('alarm').selectAll().execute()
    expect(alarms).toMatchObject([{ type: 'webhook_certificate_expiring', details: { webhook_id: id } }])
    clock.advance(1000)
    await context.ctx.db.updateTable('webhook').set({ enabled: false }).execute()
    await watch()
    expect(await typesOf(org)).toEqual(['WEBHOOK_CERTIFICATE_EXPIRING', 'WEBHOOK_CERTIFICATE_RENEWED'])
  })
})
