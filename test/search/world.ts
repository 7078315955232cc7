import { join } from 'node:path'
import { uuidv7 } from 'uuidv7'
import { systemScope } from '../../src/access/scope.ts'
import type { OpenedSession } from '../../src/devices/sessions/store.ts'
import { acknowledge } from '../../src/orgs/alarms/ack-alarms.ts'
import { appendSystemEvent } from '../../src/events/append-system.ts'
import { raiseAlarms } from '../../src/events/alarms/store.ts'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { decodeState } from '../../src/gateway/ucentral/state/decode-state.ts'
import { accessPoint, currentAccessPoint } from '../../src/gateway/ucentral/state/samples.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { recordEnds, recordReports } from '../support/fleets/record.ts'
import { type MadeDevice, addSite, claimNewDevices, connectDevice } from '../support/fleets/devices.ts'
import { addCluster, addMxedge } from '../support/fleets/mxedges.ts'
import type { TestServer } from '../support/servers/server.ts'

/** An organization with a few of everything that searches find. */
export interface World {
  /** Values for the parameters of paths. */
  readonly ids: Readonly<Record<string, string>>
  readonly devices: readonly MadeDevice[]
}

export async function makeWorld(server: TestServer): Promise<World> {
  const here = await addSite(server, 'Here, north')
  const there = await addSite(server, 'There')
  const put = async (path: string, body: object): Promise<void> => expectDone(await server.call('PUT', path, { body }))
  await put(`/sites/${there}`, { country_code: 'DE' })
  await put(`/sites/${here}`, { country_code: 'FR' })
  const auto = { enabled: true, version: 'beta' }
  await put(`/sites/${here}/setting`, { auto_upgrade: auto, rtsa: { enabled: true }, wifi: { enabled: false } })
  const devices = await makeDevices(server, { here, there })
  await makeEdges(server, here)
  await makeSystemEvents(server, here)
  await makeAlarms(server, here)
  const stackId = await makeMaps(server, here)
  const webhookId = await makeDeliveries(server)
  await makeCatalog(server)
  await put('/self', { first_name: 'Jane', last_name: 'Doe' })
  return {
    ids: { org_id: server.org.orgId, site_id: here, site_name: 'There', webhook_id: webhookId, stack_id: stackId },
    devices,
  }
}

function expectDone({ status, body }: { readonly status: number; readonly body: unknown }): void {
  if (status !== 200) throw new Error(JSON.stringify(body))
}

async function makeDevices(
  server: TestServer,
  { here, there }: { readonly here: string; readonly there: string },
): Promise<MadeDevice[]> {
  const { ctx } = server
  const aps = await claimNewDevices(server, 3, { siteId: here })
  const others = await claimNewDevices(server, 2, { siteId: there, model: 'AP34' })
  const switches = await claimNewDevices(server, 2, { siteId: here, model: 'EX4100-48P' })
  const loose = await claimNewDevices(server, 1, { model: 'SRX300' })
  const named = { Lobby: aps[0], 'lobby 2': aps[1], Roof: others[0], 'Core 100%_x': switches[0] }
  for (const [name, device] of Object.entries(named)) {
    const siteId = device === others[0] ? there : here
    const place = device === switches[0] ? { managed: true } : {}
    expectDone(await server.call('PUT', `/sites/${siteId}/devices/${device?.id}`, { body: { name, ...place } }))
  }
  const macOf = (device: MadeDevice | undefined): string => device?.mac ?? ''
  const first = await connectDevice(ctx, macOf(aps[0]), { firmware: '7.1.2', ext_ip: '192.0.2.7' })
  const second = await connectDevice(ctx, macOf(aps[1]), { firmware: '7.2', ext_ip: '198.51.100.9' })
  const left = await connectDevice(ctx, macOf(others[0]), { firmware: '8.0', ext_ip: '192.0.2.8' })
  const members = [0, 1].map((member) => ({
    member,
    mac: member === 0 ? macOf(switches[0]) : '0c0c0c0c0c0c',
    serial: `M${member}`,
    model: 'EX4100-48P',
    firmware: '21.2R3',
  }))
  await connectDevice(ctx, macOf(switches[0]), { firmware: '21.2R3', model: 'EX4100-48P', type: 'switch', members })
  await recordReports(ctx, [
    { ...reportOf(first, accessPoint), load: { ip: '10.0.0.5', cpu_percent: 12.4 } },
    { ...reportOf(second, currentAccessPoint), load: { ip: '10.1.0.5', cpu_percent: 57 } },
  ])
  await recordEnds(ctx, [left])
  return [...aps, ...others, ...switches, ...loose]
}

function reportOf({ deviceId, epoch }: OpenedSession, state: object) {
  return { deviceId, epoch, uptimeS: 60, boot: null, firmware: null, telemetry: decodeState(state) }
}

/** Creates events of the service itself. */
async function makeSystemEvents({ ctx, org }: TestServer, siteId: string): Promise<void> {
  const scope = systemScope('gateway', org.orgId)
  const details = { mac: '020000000001', device_type: 'ap', apfw: '1.0.0' }
  const events = [
    { type: 'DISK_SPACE_LOW', text: 'The disk is nearly full' },
    { type: 'WEBHOOK_MESSAGES_DROPPED', text: '12 messages', details: { count: 12 } },
    { type: 'DEVICE_SENDS_TOO_MUCH', siteId, text: 'Device Hall sends', details, once: 'today' },
    { type: 'DEVICE_SENDS_TOO_MUCH', siteId, text: 'Device Roof sends', details, once: 'tomorrow' },
  ] as const
  const now = ctx.clock.now()
  for (const event of events) await inTx(ctx, (tx) => appendSystemEvent(tx, scope, event, now))
}

/** Creates the alarms of the devices, one of them acknowledged. */
async function makeAlarms({ ctx, org }: TestServer, siteId: string): Promise<void> {
  const common = { orgId: org.orgId, text: 'offline' }
  const down = { ...common, siteId, type: 'device_down' as const }
  const missing = { ...common, siteId: null, type: 'firmware_image_missing' as const, subject: 'image', details: {} }
  const now = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await raiseAlarms(tx, [{ ...down, subject: 'one', details: { aps: ['020000000001'], hostnames: ['Hall'] } }], now)
    await raiseAlarms(tx, [missing], now)
  })
  await acknowledge(ctx, systemScope('operator', org.orgId), { chosen: 'all', note: 'seen' })
  const other = { ...down, subject: 'two', details: { switches: ['020000000002'], hostnames: ['Roof'] } }
  await inTx(ctx, (tx) => raiseAlarms(tx, [other], now))
}

async function makeEdges(server: TestServer, siteId: string): Promise<void> {
  const cluster = await addCluster(server)
  const first = await addMxedge(server, { name: 'Edge one', model: 'ME-X5', mxcluster_id: cluster.id })
  await addMxedge(server, { name: 'edge two' })
  const body = { mxedge_ids: [first.id], site_id: siteId }
  expectDone(await server.call('POST', `/orgs/${server.org.orgId}/mxedges/assign`, { body }))
}

async function makeMaps(server: TestServer, siteId: string): Promise<string> {
  const stacks = ['Tower', 'Annex'].map((name) => server.call('POST', `/sites/${siteId}/mapstacks`, { body: { name } }))
  const [tower, annex] = await Promise.all(stacks)
  for (const mapstack_id of [tower?.body.id, annex?.body.id])
    expectDone(
      await server.call('POST', `/sites/${siteId}/maps`, { body: { name: 'Floor', type: 'image', mapstack_id } }),
    )
  return tower?.body.id
}

async function makeDeliveries(server: TestServer): Promise<string> {
  const body = {
    name: 'Hook',
    type: 'http-post',
    url: 'https://hooks.example.test/',
    topics: ['audits'],
    enabled: false,
  }
  const { body: webhook } = await server.call('POST', `/orgs/${server.org.orgId}/webhooks`, { body })
  const made = [
    { topic: 'audits', status: 'success' as const, statusCode: 200, error: null },
    { topic: 'ping', status: 'failure' as const, statusCode: 503, error: 'The receiver answered 503' },
    { topic: 'ping', status: 'failure' as const, statusCode: null, error: 'The receiver did not answer' },
  ]
  const common = { orgId: server.org.orgId, webhookId: webhook.id, attempt: 1, reqUrl: 'https://hooks.example.test/' }
  const now = server.ctx.clock.now().getTime()
  const values = made.map((record, index) =>
    Object.assign(
      { id: uuidv7(), messageId: uuidv7(), siteId: null, createdAt: new Date(now - index) },
      common,
      record,
    ),
  )
  await server.ctx.db.insertInto('webhookDelivery').values(values).execute()
  return webhook.id
}

async function makeCatalog(server: TestServer): Promise<void> {
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  for (const [version, models] of [
    ['7.1', 'AP45'],
    ['7.2', 'AP34,AP45'],
  ]) {
    const query = new URLSearchParams({ version: version ?? '', models: models ?? '' }).toString()
    const upload = await fetch(`${server.url}/api/v1/orgs/${server.org.orgId}/firmware?${query}`, {
      method: 'POST',
      headers: { authorization: `Token ${server.org.token}`, 'content-type': 'application/octet-stream' },
      body: `image ${version}`,
    })
    expectDone({ status: upload.status, body: await upload.text() })
  }
}
