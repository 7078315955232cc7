import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { supportReadUrl, supportUploadUrl } from '../../../src/devices/support/file-url.ts'
import { requestSupport } from '../../../src/devices/support/request-support.ts'
import { supportTasks, sweepSupportFiles } from '../../../src/devices/support/support-files.ts'
import { systemScopeOf } from '../../../src/access/scope.ts'
import type { SiteScope } from '../../../src/access/scope.ts'
import { type MadeDevice, addSite, claimNewDevice, connectDevice } from '../../support/fleets/devices.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { uploadSupportFile } from '../../support/support-files.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'

let server: TestServer
let clock: TestClock
let siteId: string
const MAX = 100_000
beforeAll(async () => {
  clock = createTestClock()
  const bounds = { support: { orgMaxBytes: MAX, totalMaxBytes: MAX } }
  server = await startTestServer(clock, {}, null, bounds)
  siteId = await addSite(server)
})
afterAll(() => server.close())

const path = (device: MadeDevice, rest = ''): string => `/sites/${siteId}/devices/${device.id}/support${rest}`
const request = (device: MadeDevice, body: unknown = {}): Promise<Answer> => server.call('POST', path(device), { body })
const stored = () => readdir(join(server.dataDir, 'support'))

async function newDevice(): Promise<MadeDevice> {
  const device = await claimNewDevice(server, { siteId })
  await connectDevice(server.ctx, device.mac)
  return device
}

async function sentCommand(): Promise<{ device: MadeDevice; commandId: string; mac: string }> {
  const device = await newDevice()
  const { body } = await request(device)
  await server.ctx.db.updateTable('deviceCommand').set({ state: 'sent' }).where('id', '=', body.session).execute()
  return { device, commandId: body.session, mac: device.mac }
}

describe('support files', () => {
  it('are requested by a command, uploaded by the device, and read by admins', async () => {
    const device = await newDevice()
    const { status, body } = await request(device, '')
    expect([status, body]).toEqual([200, { session: expect.any(String) }])
    expect((await server.call('GET', path(device))).body).toEqual([])
    expect((await server.call('GET', path(device, `/${body.session}`))).status).toBe(404)
    expect(await uploadSupportFile(server, { commandId: body.session, mac: device.mac.toUpperCase() })).toBe(200)
    const [file, ...others] = (await server.call('GET', path(device))).body
    expect(others).toEqual([])
    expect(file).toEqual({
      id: body.session,
      device_id: device.id,
      bytes: 11,
      url: expect.stringContaining('/support-files/'),
      created_time: expect.any(Number),
    })
    const one = await server.call('GET', path(device, `/${body.session}`))
    expect(one.body).toEqual(file)
    const read = await fetch(file.url)
    expect(await read.text()).toBe('diagnostics')
    expect(read.headers.get('content-disposition')).toContain(`attachment; filename="support-${device.mac}-`)
    expect(read.headers.get('content-type')).toBe('application/octet-stream')
    const audits = await server.ctx.db
      .selectFrom('auditLog')
      .select(['message', 'adminName'])
      .where('siteId', '=', siteId)
      .where('message', 'like', `%${device.mac}%`)
      .orderBy('createdAt')
      .orderBy('id')
      .execute()
    expect(audits.slice(-2)).toEqual([
      { message: `Collect support files of device ${device.mac}`, adminName: expect.any(String) },
      { message: `Device ${device.mac} has uploaded support files`, adminName: 'gateway' },
    ])
  })

  it('can be uploaded once, even at the same time, and only for a command that was sent', async () => {
    const { device, ...upload } = await sentCommand()
    const statuses = await Promise.all([1, 2, 3].map(() => uploadSupportFile(server, upload)))
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 403, 403])
    expect(await uploadSupportFile(server, upload)).toBe(403)
    expect((await server.call('GET', path(device))).body).toHaveLength(1)
    const expired = await sentCommand()
    for (const state of ['expired', 'rejected', 'queued'] as const) {
      await server.ctx.db.updateTable('deviceCommand').set({ state }).where('id', '=', expired.commandId).execute()
      const url = supportUploadUrl(server.ctx, { orgId: server.org.orgId, commandId: expired.commandId })
      const form = new FormData()
      form.set('name', expired.mac)
      form.set('data', new Blob(['x']), 'a')
      expect((await fetch(url, { method: 'POST', body: form })).status, state).toBe(404)
    }
  })

  it('are refused at any other address: altered, expired, of another organization, or made for reading', async () => {
    const upload = await sentCommand()
    const ticket = { orgId: server.org.orgId, commandId: upload.commandId }
    const url = supportUploadUrl(server.ctx, ticket)
    const other = await server.addOrg('Other')
    const otherUrl = supportUploadUrl(server.ctx, { ...ticket, orgId: other.orgId })
    for (const wrong of [
      `${url}x`,
      url.replace(ticket.orgId, other.orgId),
      url.replace(upload.commandId, upload.commandId.toUpperCase()),
      url.replace(/\/(\d{10})\//, (_, seconds: string) => `/${Number(seconds) + 1}/`),
      supportReadUrl(server.ctx, ticket),
      otherUrl,
    ])
      expect(await uploadSupportFile(server, { ...upload, url: wrong }), wrong).toBe(404)
    expect((await fetch(url)).status).toBe(404)
    clock.advance(20 * 60_000)
    expect(await uploadSupportFile(server, { ...upload, url })).toBe(403)
    expect((await server.call('GET', path(upload.device))).body).toEqual([])
  })

  it('are refused if they are empty, too large, of another device, or no form, and nothing stays', async () => {
    const upload = await sentCommand()
    const before = await stored()
    expect(await uploadSupportFile(server, { ...upload, content: '' })).toBe(400)
    expect(await uploadSupportFile(server, { ...upload, mac: '020000000000' })).toBe(400)
    expect(await uploadSupportFile(server, { ...upload, content: 'x'.repeat(MAX + 1) })).toBe(400)
    const url = supportUploadUrl(server.ctx, { orgId: server.org.orgId, commandId: upload.commandId })
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    expect((await fetch(url, json)).status).toBeLessThan(500)
    const broken = { method: 'POST', headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: '--x\r\n' }
    expect((await fetch(url, broken)).status).toBe(400)
    expect(await stored()).toEqual(before)
    expect(await readdir(join(server.dataDir, 'support', 'incoming'))).toEqual([])
    expect(await uploadSupportFile(server, upload)).toBe(200)
  })

  it('are deleted by admins, and after their command, whose files a chore removes', async () => {
    const [first, second] = [await sentCommand(), await sentCommand()]
    for (const upload of [first, second]) expect(await uploadSupportFile(server, upload)).toBe(200)
    const count = (await stored()).length
    const one = path(first.device, `/${first.commandId}`)
    const { url } = (await server.call('GET', one)).body
    expect(await server.call('DELETE', one)).toMatchObject({ status: 200, body: {} })
    expect((await server.call('DELETE', one)).status).toBe(404)
    expect((await fetch(url)).status).toBe(404)
    expect(await stored()).toHaveLength(count - 1)
    await server.ctx.db.deleteFrom('deviceCommand').where('id', '=', second.commandId).execute()
    const files = { dir: join(server.dataDir, 'support') }
    // The file is too young for the chore, which leaves it; the next start does not.
    const [chore] = supportTasks(server.ctx, files)
    await chore?.run(null, new AbortController().signal)
    expect(await stored()).toHaveLength(count - 1)
    await sweepSupportFiles(server.ctx, files)
    expect(await stored()).toHaveLength(count - 2)
  })

  it.each([
    ['info', { info: 'messages' }],
    ['info', { info: 'everything' }],
    ['node', { node: 'node0' }],
    ['num_messages_files', { num_messages_files: 11 }],
  ])("can't be requested in part: %s", async (field, body) => {
    const answer = await request(await newDevice(), body)
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(`Invalid field ${field}: `) } })
  })

  it('are refused for an offline device, and where devices do not trust the server', async () => {
    const offline = await claimNewDevice(server, { siteId })
    expect((await request(offline)).body.detail).toBe('Cannot collect support files of an offline device')
    const device = await newDevice()
    const scope = systemScopeOf('gateway', { orgId: server.org.orgId, siteId }) as SiteScope
    const https = { ...server.ctx, baseUrl: 'https://signalbox.example.test' }
    const ask = (localCertificates: boolean) => requestSupport(https, scope, { deviceId: device.id, localCertificates })
    await expect(ask(true)).rejects.toThrow("The device can't upload to this server")
    await expect(ask(false)).resolves.toEqual(expect.any(String))
  })
})
