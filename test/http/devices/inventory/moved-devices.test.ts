import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { OpenedSession } from '../../../../src/devices/sessions/store.ts'
import { decodeState } from '../../../../src/gateway/ucentral/state/decode-state.ts'
import { currentAccessPoint } from '../../../../src/gateway/ucentral/state/samples.ts'
import { type MadeDevice, addSite, claimNewDevice, connectDevice } from '../../../support/fleets/devices.ts'
import { addPerson } from '../../../support/people.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { uploadSupportFile } from '../../../support/support-files.ts'
import { type TestClock, createTestClock } from '../../../support/test-clock.ts'
import { recordReports } from '../../../support/fleets/record.ts'

interface Place {
  readonly siteId: string
  /** An admin of only this site. */
  readonly as: TestOrg
}

let server: TestServer
let clock: TestClock
let a: Place
let b: Place
let device: MadeDevice
let session: OpenedSession

beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
  a = await newPlace('A')
  b = await newPlace('B')
})
afterAll(() => server.close())
beforeEach(async () => {
  device = await claimNewDevice(server, { siteId: a.siteId })
  session = await connectDevice(server.ctx, device.mac)
})

async function newPlace(name: string): Promise<Place> {
  const siteId = await addSite(server, name)
  return { siteId, as: await addPerson(server, [{ scope: 'site', site_id: siteId, role: 'admin' }]) }
}

async function move(body: object): Promise<void> {
  const { status } = await server.call('PUT', `/orgs/${server.org.orgId}/inventory`, {
    body: { ...body, macs: [device.mac] },
  })
  expect(status).toBe(200)
}
const moveTo = ({ siteId }: Place): Promise<void> => move({ op: 'assign', site_id: siteId })

const call = ({ siteId, as }: Place, what: string, body?: object): Promise<Answer> =>
  server.call(body === undefined ? 'GET' : 'POST', `/sites/${siteId}/${what.replace('ID', device.id)}`, { as, body })

async function order(place: Place, what: string, body: object): Promise<string> {
  const answer = await call(place, `devices/ID/${what}`, body)
  expect(answer.status).toBe(200)
  return answer.body.session
}

/** Records a state with this many percent of CPU time, as the gateway does. */
async function report(cpu: number): Promise<void> {
  const telemetry = decodeState({ ...currentAccessPoint, unit: { cpu_load: [cpu] } })
  await recordReports(server.ctx, [{ ...session, load: {}, uptimeS: 5000, boot: null, firmware: null, telemetry }])
}

const loads = async (place: Place): Promise<number[]> => {
  const { body } = await call(place, 'stats/devices/ID/series?duration=6h&fields=cpu')
  return body.results.cpu.filter((value: number | null) => value !== null)
}

describe('what a device has reported in one site', () => {
  it('is not shown in the next: support files', async () => {
    const id = await order(a, 'support', {})
    expect(await uploadSupportFile(server, { commandId: id, mac: device.mac })).toBe(200)
    expect((await call(a, 'devices/ID/support')).body).toHaveLength(1)
    await moveTo(b)
    expect((await call(a, `devices/ID/support/${id}`)).status).toBe(404)
    expect((await call(b, 'devices/ID/support')).body).toEqual([])
    expect((await call(b, `devices/ID/support/${id}`)).status).toBe(404)
    const path = `/sites/${b.siteId}/devices/${device.id}/support/${id}`
    expect((await server.call('DELETE', path, { as: b.as })).status).toBe(404)
    await move({ op: 'unassign' })
    await moveTo(b)
    expect((await call(b, 'devices/ID/support')).body).toEqual([])
    await moveTo(a)
    expect((await call(a, 'devices/ID/support')).body).toMatchObject([{ id }])
  })

  it('is not shown in the next, even if it arrives there: a support file that was requested before', async () => {
    const id = await order(a, 'support', {})
    await moveTo(b)
    expect(await uploadSupportFile(server, { commandId: id, mac: device.mac })).toBe(200)
    expect((await call(b, 'devices/ID/support')).body).toEqual([])
    const uploads = await server.ctx.db
      .selectFrom('auditLog')
      .select('siteId')
      .where('message', '=', `Device ${device.mac} has uploaded support files`)
      .execute()
    expect(uploads).toEqual([{ siteId: a.siteId }])
  })

  it('is not shown in the next: commands and their output', async () => {
    const id = await order(a, 'ping', { host: '192.0.2.1' })
    await moveTo(b)
    const outcome = JSON.stringify({ text: 'secret of A' })
    await server.ctx.db.updateTable('deviceCommand').set({ state: 'done', outcome }).where('id', '=', id).execute()
    expect((await call(a, `devices/ID/commands/${id}`)).status).toBe(404)
    expect((await call(b, `devices/ID/commands/${id}`)).status).toBe(404)
    expect((await call(b, 'devices/ID/commands')).body).toEqual([])
    const own = await order(b, 'ping', { host: '192.0.2.2' })
    expect((await call(b, 'devices/ID/commands')).body).toMatchObject([{ id: own }])
    await moveTo(a)
    expect((await call(a, 'devices/ID/commands')).body).toMatchObject([{ id }])
  })

  it('is not shown in the next: series, without the bucket of the move', async () => {
    const now = clock.now().getTime()
    clock.advance(Math.ceil(now / 600_000) * 600_000 - now)
    clock.advance(60_000)
    await report(20)
    clock.advance(600_000)
    await report(30)
    expect(await loads(a)).toEqual([20, 30])
    await move({ op: 'assign', site_id: a.siteId, disable_auto_config: true })
    expect(await loads(a)).toEqual([20, 30])
    clock.advance(60_000)
    await move({ op: 'unassign' })
    await moveTo(b)
    expect((await call(a, 'stats/devices/ID/series')).status).toBe(404)
    await report(40)
    expect(await loads(b)).toEqual([])
    clock.advance(600_000)
    await report(50)
    expect(await loads(b)).toEqual([50])
    await moveTo(a)
    expect(await loads(a)).toEqual([])
  })
})
