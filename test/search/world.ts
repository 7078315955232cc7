import { join } from 'node:path'
import { sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { recordDisconnects } from '../../src/devices/sessions/record-disconnect.ts'
import { sweepFirmwareFiles } from '../../src/firmware/storage.ts'
import { type MadeDevice, addSite, claimNewDevices, connectDevice } from '../support/devices.ts'
import { addCluster, addMxedge } from '../support/mxedges.ts'
import type { TestServer } from '../support/server.ts'

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
  await connectDevice(ctx, macOf(aps[0]), { firmware: '7.1.2', ext_ip: '192.0.2.7' })
  await connectDevice(ctx, macOf(aps[1]), { firmware: '7.2', ext_ip: '198.51.100.9' })
  const left = await connectDevice(ctx, macOf(others[0]), { firmware: '8.0', ext_ip: '192.0.2.8' })
  const members = [0, 1].map((member) => ({
    member,
    mac: member === 0 ? macOf(switches[0]) : '0c0c0c0c0c0c',
    serial: `M${member}`,
    model: 'EX4100-48P',
    firmware: '21.2R3',
  }))
  await connectDevice(ctx, macOf(switches[0]), { firmware: '21.2R3', model: 'EX4100-48P', type: 'switch', members })
  for (const [index, device] of aps.slice(0, 2).entries())
    await sql`update device_status set load = ${JSON.stringify({ ip: `10.${index}.0.5` })}::jsonb
      where device_id = ${device.id}`.execute(ctx.db)
  await recordDisconnects(ctx, [left])
  return [...aps, ...others, ...switches, ...loose]
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
