import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import { order } from '../../edge/upgrades/packages.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { addMxedge } from '../../support/fleets/mxedges.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let org: TestServer['org']
beforeAll(async () => {
  server = await startTestServer()
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
})
afterAll(() => server.close())
beforeEach(async () => {
  org = await server.addOrg('Packages')
})

async function upload(query: string, bytes = randomBytes(100)): Promise<Answer> {
  const answer = await fetch(`${server.url}/api/v1/orgs/${org.orgId}/firmware?${query}`, {
    method: 'POST',
    headers: { authorization: `Token ${org.token}` },
    body: new Uint8Array(bytes),
  })
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

const get = async (path: string): Promise<AnyJson> =>
  (await server.call('GET', `/orgs/${org.orgId}/${path}`, { as: org })).body
const versions = async (query = '') =>
  (await get(`mxedges/versions${query}`)).map((entry: AnyJson) => `${entry.package} ${entry.version}`)

describe('a package', () => {
  test('is uploaded as firmware is, and listed by both paths with its distribution', async () => {
    const bytes = randomBytes(200)
    const answer = await upload('package=tunterm&version=1:2.0~rc1-3&distro=bookworm&default=true', bytes)
    const entry = { package: 'tunterm', version: '1:2.0~rc1-3', distro: 'bookworm', default: true }
    expect(answer).toMatchObject({
      status: 200,
      body: {
        sha256: createHash('sha256').update(bytes).digest('hex'),
        size: 200,
        versions: [],
        packages: [{ ...entry, channel: 'stable' }],
      },
    })
    for (const path of ['version', 'versions']) expect(await get(`mxedges/${path}`)).toEqual([entry])
    const { existed, ...image } = answer.body
    expect(existed).toBe(false)
    expect(await get(`firmware/${answer.body.id}`)).toEqual(image)
    expect((await get('logs?limit=1')).results[0].message).toBe('Upload package tunterm 1:2.0~rc1-3 for bookworm')
    expect(await get('devices/versions')).toEqual([])
  })

  test('is offered by its channel and by those that are less steady, the newest first', async () => {
    await upload('package=tunterm&version=1.9')
    await upload('package=tunterm&version=1.10&channel=beta')
    await upload('package=tunterm&version=2.0&channel=alpha')
    await upload('package=mxagent&version=7')
    expect(await versions()).toEqual(['mxagent 7', 'tunterm 1.9'])
    expect(await versions('?channel=beta')).toEqual(['mxagent 7', 'tunterm 1.10', 'tunterm 1.9'])
    expect(await versions('?channel=alpha')).toEqual(['mxagent 7', 'tunterm 2.0', 'tunterm 1.10', 'tunterm 1.9'])
  })

  test('is listed for its distribution, and for each one if it is for any', async () => {
    await upload('package=tunterm&version=1&distro=bookworm')
    await upload('package=tunterm&version=2&distro=bullseye')
    await upload('package=tunterm&version=3')
    expect(await versions('?distro=bookworm')).toEqual(['tunterm 3', 'tunterm 1'])
    expect(await versions('?distro=buster')).toEqual(['tunterm 3'])
  })

  test('that becomes the default takes that from another one of its distribution and channel', async () => {
    const bytes = randomBytes(10)
    await upload('package=tunterm&version=1&default=true', bytes)
    await upload('package=tunterm&version=2&default=true')
    await upload('package=tunterm&version=3&default=true&channel=beta')
    await upload('package=tunterm&version=4&default=true&distro=bookworm')
    const defaults = async () =>
      (await get('mxedges/versions?channel=beta')).flatMap((entry: AnyJson) => (entry.default ? [entry.version] : []))
    expect(await defaults()).toEqual(['4', '3', '2'])
    await upload('package=tunterm&version=1&default=true', bytes)
    expect(await defaults()).toEqual(['4', '3', '1'])
  })

  test('of the same bytes adds to their image; another file for its version is refused', async () => {
    const bytes = randomBytes(10)
    const first = await upload('package=tunterm&version=1&distro=bookworm', bytes)
    const second = await upload('package=tunterm&version=1&distro=bullseye', bytes)
    expect(second.body.id).toBe(first.body.id)
    expect(second.body.packages).toHaveLength(2)
    expect(await upload('package=tunterm&version=1&distro=bullseye')).toMatchObject({
      status: 400,
      body: { detail: 'tunterm 1 for bullseye is there from another image: delete that first' },
    })
  })

  test('keeps its signature, which a later upload of the same bytes may bring or replace', async () => {
    const bytes = randomBytes(10)
    const signatureBy = ({ privateKey }: ReturnType<typeof generateKeyPairSync>) =>
      sign(null, createHash('sha256').update(bytes).digest(), privateKey).toString('base64')
    const signature = signatureBy(generateKeyPairSync('ed25519'))
    expect((await upload('package=tunterm&version=1', bytes)).body).not.toHaveProperty('signature')
    const signed = await upload(`package=tunterm&version=1&signature=${encodeURIComponent(signature)}`, bytes)
    expect(signed.body.signature).toBe(signature)
    expect((await upload('package=tunterm&version=1', bytes)).body.signature).toBe(signature)
    // The old key may have been lost.
    const newer = signatureBy(generateKeyPairSync('ed25519'))
    const signedAnew = await upload(`package=tunterm&version=1&signature=${encodeURIComponent(newer)}`, bytes)
    expect(signedAnew.body.signature).toBe(newer)
  })

  test('is deleted with its image, but not while a command will download it', async () => {
    const { id } = (await upload('package=tunterm&version=1')).body
    const mxedge = await addMxedge(server, {}, org)
    const params = { service: 'tunterm', version: '1', image_id: id, from_version: null }
    await order({ ...server, org }, mxedge.id, { kind: 'upgrade_service', params })
    const remove = () => server.call('DELETE', `/orgs/${org.orgId}/firmware/${id}`, { as: org })
    expect(await remove()).toMatchObject({
      status: 400,
      body: { detail: 'A command to an edge appliance uses this image: wait for its end' },
    })
    await server.ctx.db
      .updateTable('mxedgeCommand')
      .set({ state: 'cancelled', finishedAt: new Date() })
      .where('mxedgeId', '=', mxedge.id)
      .execute()
    expect(await remove()).toMatchObject({ status: 200 })
    expect(await versions()).toEqual([])
    expect((await get('logs?limit=1')).results[0].message).toBe('Delete firmware tunterm 1')
  })
})

test.each([
  ['package=dpkg&version=1', 'Invalid field package'],
  ['package=tunterm&version=--force', 'Invalid field version'],
  ['package=tunterm&version=current', 'Invalid field version: is current, which upgrades take for a label'],
  ['package=tunterm&version=1%202', 'Invalid field version'],
  ['package=tunterm&version=1&channel=gamma', 'Invalid field channel'],
  ['package=tunterm&version=1&distro=-y', 'Invalid field distro'],
  ['package=tunterm&version=1&default=maybe', 'Invalid field default'],
  ['package=tunterm&version=1&signature=abc', 'Invalid field signature'],
  ['package=tunterm&version=1&models=AP45', 'Invalid field models: is for firmware of devices, not for a package'],
  ['package=tunterm&version=1&tag=stable', 'Invalid field tag: is for firmware of devices, not for a package'],
  ['models=AP45&version=1&channel=gamma', 'Invalid field channel'],
  ['models=AP45&version=1&default=false', 'Invalid field default: is for a package, and package is missing'],
  ['version=1', 'Invalid field models: name at least one model, or a package'],
])('an upload with %s is refused and names the field', async (query, reason) => {
  const { status, body } = await upload(query)
  expect([status, body.detail]).toEqual([400, expect.stringContaining(reason)])
})
