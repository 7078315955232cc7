import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { MAX_STACKS_OF_SITE } from '../../src/maps/limits.ts'
import { documentText } from '../../src/platform/sealing/document-column.ts'
import { addSite } from '../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { ekahau } from './bundles.ts'
import { picture, postForm } from './pictures.ts'

const MAX_MAPS_OF_SITE = 3

let server: TestServer
let siteId: string
let name: string
let maps: string
beforeAll(async () => {
  server = await startTestServer(undefined, {}, null, { limits: { mapsPerSite: MAX_MAPS_OF_SITE, mapsPerOrg: 4 } })
})
afterAll(() => server.close())
beforeEach(async () => {
  await server.ctx.db.deleteFrom('siteMap').execute()
  name = randomUUID()
  siteId = await addSite(server, name)
  maps = `/sites/${siteId}/maps`
})

async function fill(count: number): Promise<void> {
  const row = { orgId: server.org.orgId, siteId, doc: documentText({}), image: null, thumbnail: null }
  const times = { createdAt: new Date(), modifiedAt: new Date() }
  const rows = Array.from({ length: count }, () => ({ ...row, ...times, id: randomUUID() }))
  await server.ctx.db.insertInto('siteMap').values(rows).execute()
}

const count = async () => Number((await server.call('GET', `${maps}?limit=1`)).headers.get('x-page-total'))
const storedFiles = async () => (await readdir(join(server.dataDir, 'images'))).filter((file) => file !== 'incoming')
const full = { status: 400, body: { detail: `A site may have at most ${MAX_MAPS_OF_SITE} maps` } }

it('a site has a maximum number of maps in every operation that creates them', async () => {
  await fill(MAX_MAPS_OF_SITE - 1)
  const answers = await Promise.all([1, 2, 3, 4].map(() => server.call('POST', maps, { body: { name: 'Last' } })))
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400, 400, 400])
  expect(answers.find(({ status }) => status === 400)).toMatchObject(full)
  const installer = `/installer/orgs/${server.org.orgId}/sites/${name}/maps`
  expect(await server.call('POST', `${installer}/${randomUUID()}`, { body: {} })).toMatchObject(full)
  const bundle = { bytes: await ekahau([{ name: 'A', picture: await picture(64, 48) }]) }
  const json = JSON.stringify({ vendor_name: 'ekahau', import_all_floorplans: true })
  expect(await postForm(server, `${maps}/import`, { json, file: bundle })).toMatchObject(full)
  expect(await storedFiles()).toEqual([])
  expect(await count()).toBe(MAX_MAPS_OF_SITE)
  // An existing map can be updated, and its deletion makes room.
  const { id } = answers.find(({ status }) => status === 200)?.body ?? {}
  expect((await server.call('POST', `${installer}/${id}`, { body: { ppm: 1 } })).status).toBe(200)
  await server.call('DELETE', `${maps}/${id}`)
  expect((await server.call('POST', maps, { body: {} })).status).toBe(200)
})

it('an organization has a maximum number of maps in all its sites', async () => {
  await fill(2)
  const other = `/sites/${await addSite(server, randomUUID())}/maps`
  const create = (path: string) => server.call('POST', path, { body: { name: 'Last' } })
  const answers = await Promise.all([maps, other, other, other].map(create))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(2)
  expect(await create(other)).toMatchObject({
    status: 400,
    body: { detail: 'An organization may have at most 4 maps in all its sites' },
  })
})

it('a site has a maximum number of map stacks', async () => {
  const stacks = `/sites/${siteId}/mapstacks`
  const row = {
    orgId: server.org.orgId,
    siteId,
    name: 'Tower',
    doc: documentText({}),
    createdAt: new Date(),
    modifiedAt: new Date(),
  }
  const rows = Array.from({ length: MAX_STACKS_OF_SITE - 1 }, () => ({ ...row, id: randomUUID() }))
  await server.ctx.db.insertInto('mapStack').values(rows).execute()
  expect((await server.call('POST', stacks, { body: {} })).status).toBe(200)
  expect(await server.call('POST', stacks, { body: {} })).toMatchObject({
    status: 400,
    body: { detail: `A site may have at most ${MAX_STACKS_OF_SITE} map stacks` },
  })
})
