import { afterAll, beforeAll, expect, it } from 'vitest'
import { type MadeDevice, addSite, claimNewDevice } from '../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { type StreamClient, openStream } from '../support/peers/stream-client.ts'

let server: TestServer
let siteId: string
let device: MadeDevice
beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server)
  device = await claimNewDevice(server, { siteId })
})
afterAll(() => server.close())

const openAt = (host: string): Promise<StreamClient> =>
  openStream(server.url, { authorization: `Token ${server.org.token}`, host })

async function rename(name: string): Promise<void> {
  const answer = await server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { name } })
  expect(answer.status).toBe(200)
}

it.each(['api-ws.example.com', 'API-WS.example.com:8443'])('sends data as a text to a client of %s', async (host) => {
  const channel = `/sites/${siteId}/devices`
  const [textual, other] = [await openAt(host), await openAt('api.example.com')]
  await textual.subscribe(channel)
  const { seq } = await other.subscribe(channel)
  await rename(`Hall ${host}`)
  const [text, object] = [await textual.next(), await other.next()]
  expect(object).toMatchObject({ event: 'data', channel, data: { id: device.id, name: `Hall ${host}` } })
  expect(text).toEqual({ ...object, data: JSON.stringify(object.data) })

  // Missed messages have the same form.
  const late = await openAt(host)
  expect(await late.subscribe(channel, seq)).toMatchObject({ resumed: true })
  expect(await late.next()).toEqual(text)
})
