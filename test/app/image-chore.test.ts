import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { imageTasks } from '../../src/app/images.ts'
import { picture } from '../maps/pictures.ts'
import { addSite, claimNewDevices } from '../support/fleets/devices.ts'
import { encodeForm } from '../support/contract/forms.ts'
import { addMxedge } from '../support/fleets/mxedges.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { createTestClock } from '../support/test-clock.ts'

const clock = createTestClock()
let server: TestServer
let dir: string
beforeAll(async () => {
  server = await startTestServer(clock)
  dir = join(server.dataDir, 'images')
})
afterAll(() => server.close())

const files = async () => (await readdir(dir)).filter((name) => name !== 'incoming')

/** @returns The name of the image file, whose age is set to slightly more than an hour. */
async function upload(path: string): Promise<string> {
  const before = await files()
  const form = await encodeForm({ file: { name: 'a.png', type: 'image/png', bytes: await picture(8, 8) } })
  expect(await server.call('POST', path, form)).toMatchObject({ status: 200 })
  const name = (await files()).find((one) => !before.includes(one)) ?? ''
  const past = new Date(clock.now().getTime() - 3700e3)
  await utimes(join(dir, name), past, past)
  return name
}

it('deletes images whose device or site is deleted, and no others', async () => {
  const inventory = `/orgs/${server.org.orgId}/inventory`
  const [siteId, goneSiteId] = [await addSite(server), await addSite(server, 'Gone')]
  const [gone, left, kept] = await claimNewDevices(server, 3, { siteId })
  const edge = await addMxedge(server)
  const image = (id = '') => upload(`/sites/${siteId}/devices/${id}/image1`)
  const map = await server.call('POST', `/sites/${goneSiteId}/maps`, { body: { name: 'Floor', type: 'image' } })
  const goneNames = [await image(gone?.id), await upload(`/sites/${goneSiteId}/maps/${map.body.id}/image`)]
  const keptNames = [
    await image(left?.id),
    await image(kept?.id),
    await upload(`/orgs/${server.org.orgId}/mxedges/${edge.id}/image/1`),
  ]
  await server.call('PUT', inventory, { body: { op: 'delete', macs: [gone?.mac] } })
  // A device in the inventory keeps its images.
  await server.call('PUT', inventory, { body: { op: 'unassign', macs: [left?.mac] } })
  expect((await server.call('DELETE', `/sites/${goneSiteId}`)).status).toBe(200)
  expect((await files()).sort()).toEqual([...goneNames, ...keptNames].sort())

  const [sweep] = imageTasks(server.ctx, { dir })
  await sweep?.run(null, new AbortController().signal)
  expect((await files()).sort()).toEqual(keptNames.toSorted())
})
