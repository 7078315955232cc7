import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { MAX_MAPS_OF_SITE, MAX_STACKS_OF_SITE } from '../../src/maps/limits.ts'
import { addSite } from '../support/devices.ts'
import { type TestServer, startTestServer } from '../support/server.ts'
import { ekahau } from './bundles.ts'
import { picture, postForm } from './pictures.ts'

let server: TestServer
let siteId: string
let name: string
let maps: string
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  await server.ctx.db.deleteFrom('siteMap').execute()
  name = randomUUID()
  siteId = await addSite(server, name)
  maps = `/sites/${siteId}/maps`
})

async function fill(count: number, imageBytes = 0): Promise<void> {
  const row = { orgId: server.org.orgId, siteId, doc: '{}', image: null, thumbnail: null, imageBytes }
  const times = { createdAt: new Date(), modifiedAt: new Date() }
  const rows = Array.from({ length: count }, () => ({ ...row, ...times, id: randomUUID() }))
  await server.ctx.db.insertInto('siteMap').values(rows).execute()
}

const count = async () => Number((await server.call('GET', `${maps}?limit=1`)).headers.get('x-page-total'))
const kept = async () => (await readdir(join(server.dataDir, 'images'))).filter((file) => file !== 'incoming')
const full = { status: 400, body: { detail: `A site may have at most ${MAX_MAPS_OF_SITE} maps.` } }
const file = async () => ({ bytes: await picture(64, 48), type: 'image/png' })

it('a site has so many maps and no more, whoever makes them', async () => {
  await fill(MAX_MAPS_OF_SITE - 1)
  const answers = await Promise.all([1, 2, 3, 4].map(() => server.call('POST', maps, { body: { name: 'Last' } })))
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400, 400, 400])
  expect(answers.find(({ status }) => status === 400)).toMatchObject(full)
  const installer = `/installer/orgs/${server.org.orgId}/sites/${name}/maps`
  expect(await server.call('POST', `${installer}/${randomUUID()}`, { body: {} })).toMatchObject(full)
  const bundle = { bytes: await ekahau([{ name: 'A', picture: await picture(64, 48) }]) }
  const json = JSON.stringify({ vendor_name: 'ekahau', import_all_floorplans: true })
  expect(await postForm(server, `${maps}/import`, { json, file: bundle })).toMatchObject(full)
  expect(await kept()).toEqual([])
  expect(await count()).toBe(MAX_MAPS_OF_SITE)
  // What is there can be defined again, and makes room by going.
  const { id } = answers.find(({ status }) => status === 200)?.body ?? {}
  expect((await server.call('POST', `${installer}/${id}`, { body: { ppm: 1 } })).status).toBe(200)
  await server.call('DELETE', `${maps}/${id}`)
  expect((await server.call('POST', maps, { body: {} })).status).toBe(200)
})

it('an organization has so many bytes of pictures, and another one its own', async () => {
  const { body } = await server.call('POST', maps, { body: {} })
  const image = `${maps}/${body.id}/image`
  expect((await postForm(server, image, { file: await file() })).status).toBe(200)
  const before = await kept()
  await fill(27, 2_000_000_000)
  const smaller = { bytes: await picture(8, 8), type: 'image/png' }
  expect((await postForm(server, image, { file: smaller })).status).toBe(200)
  const refused = await postForm(server, image, { file: await file() })
  expect(refused).toMatchObject({ status: 400, body: { detail: expect.stringMatching(/50 GiB of pictures/) } })
  expect(await kept()).toHaveLength(before.length)
  expect((await server.call('GET', `${maps}/${body.id}`)).body).toMatchObject({ width: 8, height: 8 })
  const other = await server.addOrg('Other')
  const site = await addSite(server, 'Theirs', other)
  const theirs = await server.call('POST', `/sites/${site}/maps`, { as: other, body: {} })
  const path = `/sites/${site}/maps/${theirs.body.id}/image`
  expect((await postForm(server, path, { file: await file() }, other)).status).toBe(200)
})

it('a site has so many map stacks', async () => {
  const stacks = `/sites/${siteId}/mapstacks`
  const row = {
    orgId: server.org.orgId,
    siteId,
    name: 'Tower',
    doc: '{}',
    createdAt: new Date(),
    modifiedAt: new Date(),
  }
  const rows = Array.from({ length: MAX_STACKS_OF_SITE - 1 }, () => ({ ...row, id: randomUUID() }))
  await server.ctx.db.insertInto('mapStack').values(rows).execute()
  expect((await server.call('POST', stacks, { body: {} })).status).toBe(200)
  expect(await server.call('POST', stacks, { body: {} })).toMatchObject({
    status: 400,
    body: { detail: `A site may have at most ${MAX_STACKS_OF_SITE} map stacks.` },
  })
})
