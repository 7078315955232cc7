import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { picture } from '../../../maps/pictures.ts'
import { addSite, claimNewDevice } from '../../../support/fleets/devices.ts'
import { encodeForm } from '../../../support/contract/forms.ts'
import { addPerson } from '../../../support/people.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { createTestClock } from '../../../support/test-clock.ts'

const DAY_MS = 86_400_000

const clock = createTestClock()
let server: TestServer
let installer: TestOrg
let path: string
beforeAll(async () => {
  server = await startTestServer(clock)
  installer = await addPerson(server, [{ scope: 'org', role: 'installer' }])
  path = `/installer/orgs/${server.org.orgId}/devices`
})
afterAll(() => server.close())

const files = async () => (await readdir(join(server.dataDir, 'images'))).filter((name) => name !== 'incoming')
const incomingFiles = () => readdir(join(server.dataDir, 'images', 'incoming'))

async function upload(mac: string, name: string, bytes?: Uint8Array) {
  const file = { name: 'a.png', type: 'image/png', bytes: bytes ?? (await picture(20, 10)) }
  return server.call('POST', `${path}/${mac}/${name}`, { as: installer, ...(await encodeForm({ file })) })
}

const remove = (mac: string, name: string) => server.call('DELETE', `${path}/${mac}/${name}`, { as: installer })

it('an installer uploads and deletes images of a device', async () => {
  const siteId = await addSite(server)
  const device = await claimNewDevice(server, { siteId })
  const mac = device.mac
  expect(await upload(mac, 'image1')).toMatchObject({ status: 200, body: {} })
  await upload(mac, 'image1')
  await upload(mac, 'image3')
  expect(await files()).toHaveLength(2)
  const shown = await server.call('GET', `/sites/${siteId}/devices/${device.id}`)
  expect((await fetch(shown.body.image1_url)).status).toBe(200)
  const audits = await server.ctx.db
    .selectFrom('auditLog')
    .selectAll()
    .where('adminId', '=', installer.adminId)
    .execute()
  expect(audits.map(({ siteId: site }) => site)).toEqual([siteId, siteId, siteId])
  expect(await remove(mac, 'image1')).toMatchObject({ status: 200, body: {} })
  expect((await remove(mac, 'image1')).status).toBe(404)
  expect((await remove(mac, 'image3')).status).toBe(200)
  expect(await files()).toEqual([])
})

it('each device has three images, even without a site', async () => {
  const device = await claimNewDevice(server)
  const mac = device.mac
  expect((await upload(mac, 'image2')).status).toBe(200)
  // Another operation has the path of `vc`.
  expect((await upload(mac, 'vc')).status).toBe(405)
  for (const name of ['image0', 'image4', 'image', 'picture']) {
    expect((await upload(mac, name)).status, name).toBe(404)
    expect((await remove(mac, name)).status, name).toBe(404)
  }
  await remove(mac, 'image2')
})

it('nothing is stored of an invalid image, or for a device that the installer may not access', async () => {
  const device = await claimNewDevice(server)
  const mac = device.mac
  expect((await upload(mac, 'image1', Buffer.from('GIF89a, or so'))).status).toBe(400)
  expect((await upload('020000000000', 'image1')).status).toBe(404)
  clock.advance(7 * DAY_MS + 1)
  expect((await upload(mac, 'image1')).status).toBe(404)
  expect((await remove(mac, 'image1')).status).toBe(404)
  expect([await files(), await incomingFiles()]).toEqual([[], []])
})
