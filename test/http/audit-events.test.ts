import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AnyJson } from '../support/any-json.ts'
import { addSite, claimNewDevices, connectDevice, makeDevices } from '../support/devices.ts'
import { type TestServer, startTestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

async function lastAudit(): Promise<AnyJson> {
  const outbox = server.ctx.db.selectFrom('webhookOutbox').select('event').where('topic', '=', 'audits')
  return (await outbox.orderBy('id', 'desc').executeTakeFirstOrThrow()).event
}

it('an audits event names its site and its device, and has neither where there is none', async () => {
  const siteId = await addSite(server)
  expect(await lastAudit()).toMatchObject({ message: 'Add Site "Here"', site_id: siteId })
  expect(await lastAudit()).not.toHaveProperty('device_id')
  const [device] = await makeDevices(server.ctx, 1)
  const { id, mac, claim_code } = device ?? { id: '', mac: '', claim_code: '' }
  await connectDevice(server.ctx, mac)
  const inventory = `/orgs/${server.org.orgId}/inventory`
  const one = `/sites/${siteId}/devices/${id}`
  const ofSite = { site_id: siteId, device_id: id }
  const changes = [
    ['POST', inventory, [claim_code], { message: `Claim device ${mac}`, device_id: id }],
    ['PUT', inventory, { op: 'assign', site_id: siteId, macs: [mac] }, ofSite],
    ['PUT', one, { name: 'Hall' }, { message: 'Update device Hall', ...ofSite }],
    ['POST', `${one}/restart`, {}, { message: 'Restart device Hall', ...ofSite }],
    ['PUT', inventory, { op: 'delete', macs: [mac] }, { message: `Unclaim device ${mac}`, device_id: id }],
  ] as const
  for (const [method, path, body, event] of changes) {
    expect((await server.call(method, path, { body })).status, path).toBe(200)
    const audit = await lastAudit()
    expect(audit).toMatchObject(event)
    expect('site_id' in audit).toBe('site_id' in event)
  }
  await claimNewDevices(server, 2)
  expect(await lastAudit()).toMatchObject({ message: 'Claim 2 devices' })
  for (const absent of ['site_id', 'device_id']) expect(await lastAudit()).not.toHaveProperty(absent)
})
