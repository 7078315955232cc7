// Brings the demo into the states that the pictures show, by the API alone.
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { imageHeader } from '../../src/simulator/image.ts'

export interface Demo {
  readonly email: string
  readonly password: string
  readonly api_token: string
  readonly org_id: string
  readonly site_ids: readonly string[]
}

export interface Prepared {
  readonly mapId: string
  readonly upgrades: Upgrades
  readonly webhookId: string
  readonly ssoId: string
  readonly mxedgeId: string
}

export async function prepareDemo(url: string, demo: Demo): Promise<Prepared> {
  const mapId = await drawMap(url, demo)
  const [mxedge] = (await get(url, demo, `/orgs/${demo.org_id}/mxedges`)) as readonly { readonly id: string }[]
  return {
    mapId,
    mxedgeId: mxedge?.id ?? '',
    webhookId: await pingWebhook(url, demo),
    ssoId: await addSso(url, demo),
    upgrades: await startUpgrades(url, demo),
  }
}

type Upgrades = Readonly<
  Record<'completed' | 'stopped' | 'gated' | 'paused' | 'routers' | 'appliances' | 'running', string>
>

/** Starts an upgrade for each state of the live view, and for routers and appliances; the last one runs while the pictures are taken. */
async function startUpgrades(url: string, demo: Demo): Promise<Upgrades> {
  const [berlin = '', newYork = '', tokyo = ''] = demo.site_ids
  // The devices still report 3.1.0 when they have installed this image.
  await upload(url, demo, 'version=4.0.0&models=EAP104', imageHeader(['EAP104'], '3.1.0').padEnd(100_000, '.'))
  const start = async (body: object) => (await post(url, demo, '/devices/upgrade', body)).id ?? ''
  const canary = { strategy: 'canary', canary_phases: [30, 100], version: '3.2.0' }
  const upgrades = {
    completed: await start({
      name: 'Pilot in Tokyo',
      site_ids: [tokyo],
      models: ['EAP102'],
      strategy: 'big_bang',
      version: '3.2.0',
    }),
    stopped: await start({
      ...canary,
      name: 'Trial in New York',
      site_ids: [newYork],
      models: ['EAP104'],
      version: '4.0.0',
    }),
    gated: await start({
      ...canary,
      name: 'Rest of Tokyo',
      site_ids: [tokyo],
      models: ['EAP104'],
      phase_gates: [{ phase: 1, wait_for: 'approval' }],
    }),
    paused: await start({ ...canary, name: 'Switches in Berlin', site_ids: [berlin], models: ['ECS4125-10P'] }),
  }
  await post(url, demo, `/devices/upgrade/${upgrades.paused}/pause`, {})
  const others = { routers: await upgradeRouter(url, demo), appliances: await upgradeAppliances(url, demo) }
  await untilSite(url, demo, upgrades.completed, 'completed')
  await untilSite(url, demo, upgrades.stopped, 'failed')
  const gates = [{ phase: 2, wait_for: 'approval' }]
  const all = { all_sites: true, strategy: 'canary', version: '3.2.0', max_failure_percentage: 10, phase_gates: gates }
  return { ...upgrades, ...others, running: await start({ ...all, name: 'Autumn round' }) }
}

async function upgradeRouter(url: string, demo: Demo): Promise<string> {
  const device_ids = ['00000000-0000-0000-1000-02516eff0001']
  return (await post(url, demo, '/ssr/upgrade', { device_ids, version: '6.3.0' })).id ?? ''
}

/** Upgrades the appliances in an hour. */
async function upgradeAppliances(url: string, demo: Demo): Promise<string> {
  await upload(url, demo, 'package=tunterm&version=2.1.0&channel=stable', 'a package')
  const body = { strategy: 'serial', versions: { tunterm: '2.1.0' }, start_time: Math.floor(Date.now() / 1000) + 3600 }
  return (await post(url, demo, '/mxedges/upgrade', body)).id ?? ''
}

/** Waits until an upgrade of one site has come to this state. */
async function untilSite(url: string, demo: Demo, id: string, state: string): Promise<void> {
  const end = Date.now() + 60_000
  for (;;) {
    const record = (await get(url, demo, `/orgs/${demo.org_id}/devices/upgrade/${id}`)) as UpgradeRecord
    const status = record.upgrades[0]?.upgrade.status
    if (status === state) return
    if (Date.now() > end) throw new Error(`the upgrade ${id} is ${status}, not ${state}`)
    await setTimeout(250)
  }
}

interface UpgradeRecord {
  readonly upgrades: readonly { readonly upgrade: { readonly status: string } }[]
}

/** Draws a floor of the first site, and places access points on it. */
async function drawMap(url: string, demo: Demo): Promise<string> {
  const site = `/sites/${demo.site_ids[0] ?? ''}`
  const corners = [
    ['A', 60, 60, ['B', 'D']],
    ['B', 1140, 60, ['C']],
    ['C', 1140, 640, ['D']],
    ['D', 60, 640, []],
    ['E', 420, 60, ['F']],
    ['F', 420, 300, ['G']],
    ['G', 60, 300, []],
    ['H', 760, 640, ['I']],
    ['I', 760, 380, ['J']],
    ['J', 1140, 380, []],
  ] as const
  const node = ([name, x, y, others]: readonly [string, number, number, readonly string[]]) => ({
    name,
    position: { x, y },
    edges: Object.fromEntries(others.map((other) => [other, '1'])),
  })
  const { id = '' } = await send(url, demo, {
    path: `${site}/maps`,
    body: {
      name: 'Ground floor',
      width: 1200,
      height: 700,
      ppm: 24,
      wall_path: { coordinate: 'actual', nodes: corners.map(node) },
      wayfinding_path: {
        coordinate: 'actual',
        nodes: (
          [
            ['P', 240, 470, ['Q']],
            ['Q', 590, 470, ['R']],
            ['R', 590, 200, ['S']],
            ['S', 960, 200, []],
          ] as const
        ).map(node),
      },
      geofences: [
        {
          name: 'Meeting rooms',
          vertices: [
            { X: 780, Y: 400 },
            { X: 1120, Y: 400 },
            { X: 1120, Y: 620 },
            { X: 780, Y: 620 },
          ],
        },
      ],
    },
  })
  const places = [
    [240, 180],
    [590, 180],
    [940, 180],
    [240, 480],
    [590, 480],
    [940, 510],
  ] as const
  for (const [index, [x, y]] of places.entries())
    await send(url, demo, {
      method: 'PUT',
      path: `${site}/devices/00000000-0000-0000-1000-02516e00000${index + 1}`,
      body: { map_id: id, x, y, orientation: index * 45 },
    })
  return id
}

/** Creates a webhook and sends it test messages, of which it refuses the second one. */
async function pingWebhook(url: string, demo: Demo): Promise<string> {
  const arrivals = new EventEmitter<{ message: [] }>()
  let received = 0
  const receiver = createServer((request, response) => {
    received += 1
    request.resume()
    response.writeHead(received === 2 ? 503 : 200).end(received === 2 ? 'busy' : '{"taken":true}')
    arrivals.emit('message')
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const { port } = receiver.address() as AddressInfo
  const webhook = { name: 'Tickets', url: `http://127.0.0.1:${port}/tickets`, topics: ['device-updowns', 'alarms'] }
  const { id = '' } = await post(url, demo, '/webhooks', webhook)
  for (let sent = 0; sent < 3; sent += 1) {
    const arrived = once(arrivals, 'message')
    await post(url, demo, `/webhooks/${id}/ping`, {})
    await arrived
  }
  receiver.unref()
  return id
}

function post(url: string, demo: Demo, path: string, body: object): Promise<{ readonly id?: string }> {
  return send(url, demo, { path: `/orgs/${demo.org_id}${path}`, body })
}

interface Sent {
  readonly method?: 'POST' | 'PUT'
  readonly path: string
  readonly body: object
}

async function send(url: string, demo: Demo, { method = 'POST', path, body }: Sent): Promise<{ readonly id?: string }> {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Token ${demo.api_token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path} was refused: ${await answer.text()}`)
  return (await answer.json()) as { readonly id?: string }
}

/** Invites a person, and adds an identity provider with a role, as far as they are known before the provider knows the service. */
async function addSso(url: string, demo: Demo): Promise<string> {
  await post(url, demo, '/ssoroles', { name: 'staff', privileges: [{ scope: 'org', role: 'helpdesk' }] })
  const invite = { email: 'grace@example.com', privileges: [{ scope: 'org', role: 'read' }] }
  await post(url, demo, '/invites', invite)
  const { id = '' } = await post(url, demo, '/ssos', { name: 'Company', issuer: 'https://login.example.com/saml' })
  return id
}

async function get(url: string, demo: Demo, path: string): Promise<unknown> {
  const answer = await fetch(`${url}/api/v1${path}`, { headers: { authorization: `Token ${demo.api_token}` } })
  if (!answer.ok) throw new Error(`${path} was refused: ${await answer.text()}`)
  return answer.json()
}

async function upload(url: string, demo: Demo, query: string, body: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/orgs/${demo.org_id}/firmware?${query}`, {
    method: 'POST',
    headers: { authorization: `Token ${demo.api_token}`, 'content-type': 'application/octet-stream' },
    body,
  })
  if (!answer.ok) throw new Error(`the image was refused: ${await answer.text()}`)
}
