import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemScope } from '../../../src/access/scope.ts'
import { insertCommands } from '../../../src/devices/commands/store.ts'
import { sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { systemClock } from '../../../src/platform/time/clock.ts'
import { releaseDevices } from '../../support/fleets/device-upgrades.ts'
import { addSite, claimNewDevice } from '../../support/fleets/devices.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { waitUntil } from '../../support/wait-until.ts'

const MAX_BYTES = 16 * 1024 * 1024
/** The operator trusts the first and the second of them. */
const keys = [1, 2, 3].map(() => generateKeyPairSync('ed25519'))

let server: TestServer
let path: string
let dir: string
beforeAll(async () => {
  const trusted = keys.slice(0, 2).map(({ publicKey }) => publicKey)
  server = await startTestServer(systemClock, {}, null, { firmwareTrust: { keys: trusted, isRequired: false } })
  path = `/orgs/${server.org.orgId}/firmware`
  dir = join(server.dataDir, 'firmware')
})
afterAll(() => server.close())
beforeEach(() => sweepFirmwareFiles(server.ctx, { dir }))

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

async function upload(query: string, body: Buffer, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await fetch(`${server.url}/api/v1${path}?${query}`, {
    method: 'POST',
    headers: { authorization: `Token ${server.org.token}`, ...headers },
    body: new Uint8Array(body),
  })
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

/** Lists the names in the firmware folder: images, and incoming uploads. */
async function files(): Promise<{ images: string[]; incoming: string[] }> {
  const names = await readdir(dir)
  return { images: names.filter((name) => name !== 'incoming'), incoming: await readdir(join(dir, 'incoming')) }
}

/** Inserts an upgrade to the image that waits to be sent. */
async function orderUpgrade(imageId: string, kind: 'upgrade' | 'stage'): Promise<void> {
  const device = await claimNewDevice(server)
  const createdAt = new Date()
  const command = {
    kind,
    params: { image_id: imageId, version: '4' },
    id: uuidv7(),
    deviceId: device.id,
    siteId: null,
    siteUpgradeId: uuidv7(),
    attempt: 1,
    createdAt,
    expiresAt: new Date(createdAt.getTime() + 60_000),
  }
  await inTx(server.ctx, (tx) => insertCommands(tx, systemScope('rollout', server.org.orgId), [command]))
}

describe('upload', () => {
  it('stores the image unchanged and offers it for its models', async () => {
    // This exceeds the limit of a JSON body, and the size of one chunk.
    const image = randomBytes(3 * 1024 * 1024)
    const answer = await upload(
      `version=2.0.1&models=AP45,AP34&tag=stable&sha256=${sha256(image).toUpperCase()}`,
      image,
    )
    expect(answer).toMatchObject({
      status: 200,
      body: {
        org_id: server.org.orgId,
        sha256: sha256(image),
        size: image.length,
        versions: [
          { model: 'AP34', version: '2.0.1', tag: 'stable', reported: [] },
          { model: 'AP45', version: '2.0.1', tag: 'stable', reported: [] },
        ],
      },
    })
    expect((await readFile(join(dir, answer.body.id))).equals(image)).toBe(true)
    expect((await files()).incoming).toEqual([])
    const { existed: _existed, ...stored } = answer.body
    expect((await server.call('GET', `${path}/${answer.body.id}`)).body).toEqual(stored)
    const list = await server.call('GET', path)
    expect(list.body).toContainEqual(stored)
    expect(Number(list.headers.get('x-page-total'))).toBe(list.body.length)
  })

  it.each(['application/octet-stream', 'application/x-www-form-urlencoded', 'application/json', 'text/plain'])(
    'accepts a body of the type %s as the image',
    async (type) => {
      const image = randomBytes(100)
      const answer = await upload(`version=${type.length}.0&models=EAP101`, image, { 'content-type': type })
      expect(answer.body).toMatchObject({ sha256: sha256(image) })
    },
  )

  it('adds models to an existing image, and refuses a different image for a version', async () => {
    const image = randomBytes(50)
    const first = await upload('version=7&models=AP41', image)
    const second = await upload('version=7&models=AP43', image)
    expect(first.body.existed).toBe(false)
    expect(second.body).toMatchObject({ id: first.body.id, existed: true })
    expect(second.body.versions).toEqual([
      { model: 'AP41', version: '7', reported: [] },
      { model: 'AP43', version: '7', reported: [] },
    ])
    const before = await files()
    const other = await upload('version=7&models=AP99,AP41', randomBytes(50))
    expect(other).toMatchObject({ status: 400, body: { detail: expect.stringContaining('AP41') } })
    expect(await files()).toEqual(before)
    expect((await server.call('GET', `/orgs/${server.org.orgId}/devices/versions?model=AP99`)).body).toEqual([])
  })

  it('stores what is known of the version, and a later upload replaces it', async () => {
    const image = randomBytes(40)
    const traits = 'channel=beta&reported=OpenWrt%2021%20/%20v3%2B,%20v3-stock&min_version=2.9'
    const first = await upload(`version=3.0&models=AP51&tag=suggested&${traits}`, image)
    const known = { model: 'AP51', version: '3.0', tag: 'suggested' }
    expect(first.body.versions).toEqual([
      { ...known, channel: 'beta', reported: ['OpenWrt 21 / v3+', 'v3-stock'], min_version: '2.9' },
    ])
    // The list of the interface has no further fields.
    expect((await server.call('GET', `/orgs/${server.org.orgId}/devices/versions?model=AP51`)).body).toEqual([known])
    const second = await upload('version=3.0&models=AP51&reported=v3-stock,3.0,v3-stock', image)
    expect(second.body.versions).toEqual([{ model: 'AP51', version: '3.0', reported: ['v3-stock'] }])
  })

  it('refuses a string that devices of the model report for another version', async () => {
    expect((await upload('version=4.0&models=AP52&reported=four', randomBytes(10))).status).toBe(200)
    const before = await files()
    for (const [query, field] of [
      ['version=four', 'version'],
      ['version=4.1&reported=five,four', 'reported'],
      ['version=4.1&reported=4.0', 'reported'],
    ] as const)
      expect(await upload(`${query}&models=AP53,AP52`, randomBytes(10))).toMatchObject({
        status: 400,
        body: {
          detail: expect.stringMatching(`Invalid field ${field}: .* devices of the model AP52 report for version 4.0`),
        },
      })
    expect((await upload('version=4.1&reported=four&models=AP53', randomBytes(10))).status).toBe(200)
    expect((await files()).images).toHaveLength(before.images.length + 1)
  })

  it('accepts signatures of trusted keys only', async () => {
    const image = randomBytes(30)
    const query = (signature: string) => `version=5.0&models=AP54&signature=${encodeURIComponent(signature)}`
    const [, trusted, unknown] = keys.map(({ privateKey }) =>
      sign(null, createHash('sha256').update(image).digest(), privateKey).toString('base64'),
    )
    const before = await files()
    expect(await upload(query(unknown ?? ''), image)).toMatchObject({
      status: 400,
      body: {
        detail: expect.stringContaining('Invalid field signature: is by none of the keys that this server trusts'),
      },
    })
    expect((await upload(query('short'), image)).body.detail).toBe(
      'Invalid field signature: "short" must be an Ed25519 signature, which has 64 bytes, in base64',
    )
    // The signature of another image.
    expect((await upload(query(trusted ?? ''), randomBytes(30))).status).toBe(400)
    expect(await files()).toEqual(before)
    expect((await upload(query(trusted ?? ''), image)).body.signature).toBe(trusted)
  })

  it.each<[string, string, string, { size: number; status?: number }?]>([
    ['a string of odd characters', 'version=9&models=AP45&reported=a,b%0Ac', 'reported: b'],
    [
      'too many strings',
      `version=9&models=AP45&reported=${Array.from({ length: 21 }, (_, index) => index).join(',')}`,
      'reported: has 21 strings, but at most 20',
    ],
    [
      'a lowest version that is later than the version itself',
      'version=9&models=AP45&min_version=10',
      'Invalid field min_version: is 10, which is later than the version itself, 9',
    ],
    [
      'a lowest version for a package',
      'version=9&package=tunterm&min_version=8',
      'min_version: is for firmware of devices',
    ],
    ['a hash that does not match', `version=9&models=AP45&sha256=${'0'.repeat(64)}`, 'sha256'],
    ['a malformed hash', 'version=9&models=AP45&sha256=abc', 'sha256'],
    ['missing version', 'models=AP45', 'version'],
    ['a version that is a label', 'version=suggested&models=AP45', 'version: is suggested, which upgrades take for'],
    ['a version with a line break', 'version=1%0A2&models=AP45', 'version'],
    ['a model of other characters', 'version=9&models=%E2%82%AC', 'models: must match'],
    ['missing models', 'version=9&models=,', 'models'],
    ['an odd model', "version=9&models=AP45,'x", 'models'],
    ['an unknown tag', 'version=9&models=AP45&tag=golden', 'tag'],
    ['an empty image', 'version=9&models=AP45', 'empty', { size: 0 }],
    ['an image above the limit', 'version=9&models=AP45', 'at most', { size: MAX_BYTES + 1, status: 413 }],
  ])('refuses %s and stores nothing', async (_what, query, detail, { size, status = 400 } = { size: 10 }) => {
    const before = await files()
    expect(await upload(query, Buffer.alloc(size, 1))).toMatchObject({
      status,
      body: { detail: expect.stringContaining(detail) },
    })
    expect(await files()).toEqual(before)
  })

  it('refuses a form, whose boundaries would become part of the image', async () => {
    const before = await files()
    const form = { 'content-type': 'Multipart/Form-Data; boundary=x' }
    const answer = await upload('version=9&models=AP45', Buffer.alloc(10), form)
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining('not a form') } })
    expect(await files()).toEqual(before)
  })

  it('refuses an image that exceeds the limit during the upload', async () => {
    const before = await files()
    const status = await new Promise((resolve, reject) => {
      const sending = request(`${server.url}/api/v1${path}?version=9&models=AP45`, {
        method: 'POST',
        headers: { authorization: `Token ${server.org.token}`, 'transfer-encoding': 'chunked' },
      })
      sending.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject)
      for (let mebibyte = 0; mebibyte <= 16; mebibyte += 1) sending.write(Buffer.alloc(1024 * 1024))
      sending.end()
    })
    expect(status).toBe(413)
    expect(await files()).toEqual(before)
  })

  it('removes the file of an interrupted upload', async () => {
    const before = await files()
    const sending = request(`${server.url}/api/v1${path}?version=9&models=AP45`, {
      method: 'POST',
      headers: { authorization: `Token ${server.org.token}`, 'content-length': 1_000_000 },
    })
    sending.on('error', () => {}) // The test interrupts this connection.
    sending.write(Buffer.alloc(200_000))
    await waitUntil('the upload has begun', async () => (await files()).incoming.length === 1)
    sending.destroy()
    await waitUntil('its file is removed', async () => (await files()).incoming.length === 0)
    expect(await files()).toEqual(before)
  })

  it('is refused to other organizations and without credentials', async () => {
    const other = await server.addOrg()
    expect((await server.call('POST', `${path}?version=1&models=A`, { as: other, body: {} })).status).toBe(404)
    expect((await server.call('POST', `${path}?version=1&models=A`, { as: null, body: {} })).status).toBe(401)
    expect((await server.call('GET', path, { as: other })).status).toBe(404)
  })
})

describe('a server start', () => {
  it('removes interrupted uploads and unreferenced files, and nothing else', async () => {
    const kept = await upload('version=5&models=AP12', randomBytes(10))
    await mkdir(join(dir, 'incoming'), { recursive: true })
    await writeFile(join(dir, 'incoming', 'half.part'), 'x')
    await writeFile(join(dir, uuidv7()), 'x')
    const { images } = await files()
    await sweepFirmwareFiles(server.ctx, { dir })
    const after = await files()
    expect(after.incoming).toEqual([])
    expect(after.images).toContain(kept.body.id)
    expect(after.images).toHaveLength(images.length - 1)
  })
})

describe('delete', () => {
  it('removes the image, its versions and its file', async () => {
    const { body } = await upload('version=3&models=AP21', randomBytes(10))
    expect(await server.call('DELETE', `${path}/${body.id}`)).toMatchObject({ status: 200, body: {} })
    expect((await files()).images).not.toContain(body.id)
    expect((await server.call('GET', `/orgs/${server.org.orgId}/devices/versions?model=AP21`)).body).toEqual([])
    expect(await server.call('DELETE', `${path}/${body.id}`)).toMatchObject({ status: 404, body: { id: body.id } })
    expect((await server.call('GET', `${path}/${body.id}`)).status).toBe(404)
  })

  it.each([
    ['upgrade', 'AP22'],
    ['stage', 'AP23'],
  ] as const)('is refused while a queued command (%s) will make a device download the image', async (kind, model) => {
    const { body } = await upload(`version=4&models=${model}`, randomBytes(10))
    await orderUpgrade(body.id, kind)
    expect(await server.call('DELETE', `${path}/${body.id}`)).toMatchObject({
      status: 400,
      body: { detail: 'A command to a device uses this image: wait for its end' },
    })
    expect((await files()).images).toContain(body.id)
    await server.ctx.db
      .updateTable('deviceCommand')
      .set({ state: 'done', finishedAt: new Date() })
      .where('imageId', '=', body.id)
      .execute()
    expect((await server.call('DELETE', `${path}/${body.id}`)).status).toBe(200)
  })

  it('is refused while an upgrade uses the image or its devices; both can be deleted once it has ended', async () => {
    const { body } = await upload('version=4&models=AP24', randomBytes(10))
    const siteId = await addSite(server, 'Upgrading')
    const device = await claimNewDevice(server, { siteId, model: 'AP24' })
    const upgrades = `/orgs/${server.org.orgId}/devices/upgrade`
    const upgrade = await server.call('POST', upgrades, { body: { site_ids: [siteId], version: '4' } })
    expect(upgrade.status).toBe(200)
    expect(await server.call('DELETE', `${path}/${body.id}`)).toMatchObject({
      status: 400,
      body: { detail: `Upgrade ${upgrade.body.id} uses this image: cancel it, or wait for its end` },
    })
    const unclaim = { op: 'delete', macs: [device.mac] }
    const inventory = `/orgs/${server.org.orgId}/inventory`
    expect((await server.call('PUT', inventory, { body: unclaim })).body.reason).toEqual(['in a running upgrade'])
    // The engine does this at the end of the upgrade.
    await releaseDevices(server.ctx.db)
    expect((await server.call('PUT', inventory, { body: unclaim })).body.success).toEqual([device.mac])
    expect((await server.call('DELETE', `${path}/${body.id}`)).status).toBe(200)
  })
})

describe('lists', () => {
  it('have the newest version first, whenever it was uploaded', async () => {
    const org = await server.addOrg('Ordered')
    const add = async (query: string): Promise<string> => {
      const answer = await fetch(`${server.url}/api/v1/orgs/${org.orgId}/firmware?${query}`, {
        method: 'POST',
        headers: { authorization: `Token ${org.token}` },
        body: new Uint8Array(randomBytes(20)),
      })
      expect(answer.status).toBe(200)
      return ((await answer.json()) as { id: string }).id
    }
    const ids = new Map<string, string>()
    const versions = ['1.9', '1.10-rc1', '1.2', '123456789012345678901', '1.10', '1.10.1']
    for (const version of versions) ids.set(version, await add(`version=${version}&models=AP45`))
    ids.set('2.0', await add('version=2.0&package=tunterm'))
    ids.set('2.0~rc1', await add('version=2.0~rc1&package=tunterm'))
    await add('version=1.0&models=AP45')
    const call = (path: string) => server.call('GET', `/orgs/${org.orgId}/${path}`, { as: org })
    const ofModel = (await call('devices/versions?model=AP45')).body
    const sorted = ['123456789012345678901', '1.10.1', '1.10-rc1', '1.10', '1.9', '1.2', '1.0']
    expect(ofModel.map(({ version }: { version: string }) => version)).toEqual(sorted)
    const images: readonly { id: string; versions: object[]; packages: object[] }[] = (await call('firmware')).body
    const nameOf = ({ versions: [version], packages: [pack] }: (typeof images)[number]) =>
      Reflect.get(version ?? pack ?? {}, 'version')
    expect(images.map(nameOf)).toEqual(['123456789012345678901', '2.0', '2.0~rc1', ...sorted.slice(1)])
    const pages = [1, 2, 3, 4, 5].map(async (page) => (await call(`firmware?limit=2&page=${page}`)).body)
    expect((await Promise.all(pages)).flat()).toEqual(images)
  })
})

describe('versions', () => {
  it('are listed by type and model for organization and site', async () => {
    await upload('version=24.2R1&models=EX4100-48P&tag=suggested', randomBytes(20))
    await upload('version=11.0&models=AP63', randomBytes(20))
    const site = await server.call('POST', `/orgs/${server.org.orgId}/sites`, { body: { name: 'Versions' } })
    for (const root of [`/orgs/${server.org.orgId}`, `/sites/${site.body.id}`]) {
      const list = async (query: string) => (await server.call('GET', `${root}/devices/versions?${query}`)).body
      expect(await list('type=switch')).toEqual([{ model: 'EX4100-48P', version: '24.2R1', tag: 'suggested' }])
      expect(await list('type=&model=AP63')).toEqual([{ model: 'AP63', version: '11.0' }])
      expect(await list('type=gateway')).toEqual([])
      expect((await list('')).every(({ model }: { model: string }) => model !== 'EX4100-48P')).toBe(true)
      expect((await server.call('GET', `${root}/devices/versions?type=toaster`)).status).toBe(400)
    }
  })
})
