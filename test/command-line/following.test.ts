import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { recordCommandsSent } from '../../src/devices/commands/record-commands.ts'
import { recordOutcomes } from '../support/fleets/record.ts'
import { addPerson } from '../support/people.ts'
import { type MadeDevice, addSite, claimNewDevices, connectDevice } from '../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { waitUntil } from '../support/wait-until.ts'
import { startPath } from './path.ts'
import { type Person, runSignalbox, startSignalbox } from './run-signalbox.ts'

let server: TestServer
let siteId: string
let hall: MadeDevice
let cellar: MadeDevice

beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server, 'North')
  const [first, second] = await claimNewDevices(server, 2, { siteId })
  if (first === undefined || second === undefined) throw new Error('no devices')
  hall = first
  cellar = second
  await connectDevice(server.ctx, hall.mac, { firmware: '1.0.0' })
  await rename(hall, 'Hall')
})
afterAll(() => server.close())

const person = (): Person => ({ url: server.url, token: server.org.token })
const rename = ({ id }: MadeDevice, name: string) =>
  server.call('PUT', `/sites/${siteId}/devices/${id}`, { body: { name } })

it('watches devices, and loses nothing while the connection is broken', async () => {
  const path = await startPath(server.url)
  const watching = await startSignalbox({ ...person(), url: path.url }, ['devices', 'watch', '--site', 'North'])
  await watching.told(/watching 2 devices at 1 sites/)
  path.refuse(true)
  path.breakAll()
  await watching.told(/connection lost: .*retrying/)
  await connectDevice(server.ctx, hall.mac, { firmware: '3.0.0' })
  path.refuse(false)
  expect(await watching.next()).toMatch(new RegExp(`^\\d{4}-\\d\\d-\\d\\d .*${hall.mac}  Hall  connected  3\\.0\\.0`))
  await connectDevice(server.ctx, hall.mac, { firmware: '3.1.0' })
  expect(await watching.next()).toContain('3.1.0')
  expect(await watching.interrupt()).toBe(130)
})

it('watches single devices, in lines of JSON', async () => {
  const watching = await startSignalbox(person(), ['devices', 'watch', cellar.mac, hall.mac, '--json'])
  // With --json the command does not report its start.
  const first = watching.next(({ mac }) => mac === cellar.mac)
  const seen = { isHere: false }
  void first.then(() => (seen.isHere = true))
  for (let round = 0; !seen.isHere; round += 1) await connectDevice(server.ctx, cellar.mac, { firmware: `2.${round}` })
  expect(await first).toMatchObject({ status: 'connected', type: 'ap', site_id: siteId })
  expect(watching.lines.every(({ mac }) => mac === cellar.mac)).toBe(true)
})

it('lets a device ping, and prints the output', async () => {
  await connectDevice(server.ctx, hall.mac, { firmware: '3.1.0' })
  const { nodeId } = await server.ctx.db
    .selectFrom('deviceSession')
    .select('nodeId')
    .where('deviceId', '=', hall.id)
    .executeTakeFirstOrThrow()
  const pinging = runSignalbox(person(), ['devices', 'ping', 'Hall', '192.0.2.1', '--count', '1'])
  const outcome = { kind: 'done', text: '1 packets transmitted\n1 packets received' } as const
  await waitUntil('the command', async () => {
    const sent = await recordCommandsSent(server.ctx, nodeId, { limit: 10, rebooting: [] })
    await recordOutcomes(
      server.ctx,
      sent.map(({ orgId, id, callId }) => ({ orgId, id, callId, outcome })),
    )
    return sent.length > 0
  })
  expect(await pinging).toEqual({ code: 0, out: `${outcome.text}\n`, err: '' })
})

it('ends when the person loses the privilege', async () => {
  const reader = await addPerson(server, [{ scope: 'org', role: 'read' }])
  const watching = await startSignalbox({ url: server.url, token: reader.token }, ['devices', 'watch', 'Hall'])
  await watching.told(/watching 1 devices/)
  await server.ctx.db.deleteFrom('privilege').where('orgId', '=', server.org.orgId).where('role', '=', 'read').execute()
  const [code] = await once(watching.child, 'close')
  expect(code).toBe(4)
})

it('refuses a wrong name, a wrong token and a wrong address', async () => {
  expect(await runSignalbox(person(), ['devices', 'watch', 'Attic'])).toMatchObject({ code: 2 })
  expect(await runSignalbox({ url: server.url, token: 'wrong' }, ['devices', 'watch'])).toMatchObject({ code: 3 })
  const away = { url: 'http://127.0.0.1:9', token: 'any' }
  expect(await runSignalbox(away, ['devices', 'watch'])).toMatchObject({ code: 5 })
})

it('follows events and audit records, and continues when an unavailable server answers again', async () => {
  const path = await startPath(server.url)
  const following = await startSignalbox({ ...person(), url: path.url }, ['logs', 'follow', '--since', '1h', '--json'])
  await following.next(({ kind, message }) => kind === 'audit' && /Hall/.test(JSON.stringify(message)))
  path.refuse(true)
  path.breakAll()
  await rename(hall, 'Foyer')
  await connectDevice(server.ctx, hall.mac, { firmware: '5.0.0' })
  path.refuse(false)
  expect(await following.next(({ after }) => after?.name === 'Foyer')).toMatchObject({ kind: 'audit' })
  expect(await following.next(({ kind, apfw }) => kind === 'devices' && apfw === '5.0.0')).toMatchObject({
    mac: hall.mac,
  })
  await rename(hall, 'Hall')
  await following.next(({ after }) => after?.name === 'Hall')
  expect(following.lines.filter(({ after }) => after?.name === 'Foyer')).toEqual([])
  expect(await following.interrupt()).toBe(130)
})

it('follows one kind of records, from now on, in lines for people', async () => {
  const following = await startSignalbox(person(), ['logs', 'follow', '--only', 'audit', '--site', 'North'])
  await following.told(/following audit/)
  await rename(hall, 'Lobby')
  expect(await following.next()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d .*Update device Lobby$/)
  await rename(hall, 'Hall')
  expect(await runSignalbox(person(), ['logs', 'follow', '--only', 'gossip'])).toMatchObject({ code: 2 })
  expect(await runSignalbox(person(), ['logs', 'follow', '--since', 'yesterday'])).toMatchObject({ code: 4 })
})

it('receives webhooks, and verifies them', async () => {
  const secret = 'a long random text'
  const listening = await startSignalbox(person(), ['webhooks', 'listen', '--port', '0', '--secret', secret, '--json'])
  const { listening: url } = await listening.next()
  const send = (signature: string) =>
    fetch(url, {
      method: 'POST',
      body: '{"topic":"ping"}',
      headers: { 'webhook-id': 'one', 'webhook-timestamp': String(nowS), 'webhook-signature': `v1,${signature}` },
    })
  const nowS = Math.floor(Date.now() / 1000)
  const signature = createHmac('sha256', secret).update(`one.${nowS}.{"topic":"ping"}`).digest('base64')
  expect((await send(signature)).status).toBe(200)
  expect(await listening.next()).toMatchObject({ fault: null, repeated: false, message: { topic: 'ping' } })
  await send('AA==')
  expect(await listening.next()).toMatchObject({ fault: 'its signature is wrong', repeated: true })
  expect(await listening.interrupt()).toBe(130)
})
