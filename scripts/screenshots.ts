// Writes pictures of the console's pages: `npm run screenshots [-- FOLDER [PAGE...]]`, by default all of them into
// dist/screenshots. It runs its own demo, and needs Chromium (SIGNALBOX_TEST_CHROMIUM, or Debian's).
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buildConsole, launchChromium, noChromium, openView, signIn } from '../test/support/chromium.ts'
import { readyUrl, spawnServer } from '../test/support/spawn-server.ts'

interface Demo {
  readonly email: string
  readonly password: string
  readonly api_token: string
  readonly org_id: string
  readonly site_ids: readonly string[]
}

const views = {
  light: { scheme: 'light' },
  dark: { scheme: 'dark' },
  narrow: { scheme: 'light', width: 390, height: 844 },
} as const

if (noChromium !== null) throw new Error(noChromium)
const [, , given = 'dist/screenshots', ...wanted] = process.argv
const folder = resolve(given)
await mkdir(folder, { recursive: true })
await buildConsole()
const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-screenshots-'))
const server = spawnServer({ dataDir: join(dataDir, 'data'), demo: true })
const ended = once(server, 'exit')
try {
  const url = await readyUrl(server)
  const demo = JSON.parse(await readFile(join(dataDir, 'data', 'demo.json'), 'utf8')) as Demo
  await takeAll(url, demo, {
    mapId: await drawMap(url, demo),
    upgradeId: await startUpgrade(url, demo),
    webhookId: await pingWebhook(url, demo),
    ssoId: await addSso(url, demo),
    operatorKey: (await readFile(join(dataDir, 'data', 'operator.key'), 'utf8')).trim(),
  })
} finally {
  server.kill('SIGTERM')
  await ended
  await rm(dataDir, { recursive: true, force: true })
}

/** Starts an upgrade that runs while the pictures are taken. */
async function startUpgrade(url: string, demo: Demo): Promise<string> {
  const gates = [{ phase: 2, wait_for: 'approval' }]
  const body = { all_sites: true, strategy: 'canary', version: '3.2.0', max_failure_percentage: 10, phase_gates: gates }
  const { id } = await post(url, demo, '/devices/upgrade', body)
  return id ?? ''
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

/** Adds an identity provider with a role, as far as they are known before the provider knows the service. */
async function addSso(url: string, demo: Demo): Promise<string> {
  await post(url, demo, '/ssoroles', { name: 'staff', privileges: [{ scope: 'org', role: 'helpdesk' }] })
  const { id = '' } = await post(url, demo, '/ssos', { name: 'Company', issuer: 'https://login.example.com/saml' })
  return id
}

interface Prepared {
  readonly mapId: string
  readonly upgradeId: string
  readonly webhookId: string
  readonly ssoId: string
  readonly operatorKey: string
}

async function takeAll(
  url: string,
  demo: Demo,
  { mapId, upgradeId, webhookId, ssoId, operatorKey }: Prepared,
): Promise<void> {
  const org = `/orgs/${demo.org_id}`
  const [siteId = ''] = demo.site_ids
  /** The address of each page, and a text that it shows when it is complete. */
  const pages = [
    ['overview', org, '3 sites'],
    ['devices', `${org}/devices`, 'berlin-ap-eap102-1'],
    ['access-point', `${org}/sites/${siteId}/devices/02516e000001`, 'AP connected'],
    ['switch', `${org}/sites/${siteId}/devices/02516e000013`, 'Switch connected'],
    ['claim', `${org}/claim?macs=02516e000001`, 'Connected'],
    ['site', `${org}/sites/${siteId}`, 'Ground floor'],
    ['floor-plan', `${org}/sites/${siteId}/maps/${mapId}`, '6 on this plan'],
    ['upgrades', `${org}/upgrades`, 'To 3.2.0'],
    ['wizard', `${org}/upgrades/new?gate=first`, 'Upgraded after each phase'],
    ['edge-appliances', `${org}/edges`, 'tunterm'],
    ['account', '/account', 'Name of a new token'],
    ['firmware', `${org}/firmware`, 'not signed'],
    ['webhooks', `${org}/webhooks`, 'waiting'],
    ['webhook', `${org}/webhooks/${webhookId}`, 'Request and response'],
    ['webhook-form', `${org}/webhooks/${webhookId}/edit`, 'device-updowns'],
    ['people', `${org}/people`, 'Nobody is invited'],
    ['single-sign-on', `${org}/sso/${ssoId}`, 'Takes answers at'],
    ['settings', `${org}/settings`, 'Maintenance windows'],
    ['audit-log', `${org}/audit`, 'Before and after'],
    ['rollout', `${org}/upgrades/${upgradeId}`, 'Meeting rooms'],
  ] as const
  const browser = await launchChromium()
  try {
    for (const [name, view] of Object.entries(views)) {
      const context = await openView(browser, url, view)
      const page = await context.newPage()
      await page.goto('/sign-in')
      await page.screenshot({ path: join(folder, `sign-in-${name}.png`) })
      await page.goto('/register')
      await page.getByLabel('Organization').waitFor()
      await page.screenshot({ path: join(folder, `register-${name}.png`) })
      if (wanted.length === 0 || wanted.includes('operator')) {
        await page.goto('/operator')
        await page.getByLabel('Operator key', { exact: true }).fill(operatorKey)
        await page.keyboard.press('Enter')
        await page.getByText('of the disk stay free').waitFor()
        await page.screenshot({ path: join(folder, `operator-${name}.png`), fullPage: name === 'narrow' })
      }
      await signIn(page, demo)
      await page.waitForURL(`**${org}`)
      for (const [title, path, text] of pages) {
        if (wanted.length > 0 && !wanted.includes(title)) continue
        await page.goto(path, { waitUntil: 'domcontentloaded' })
        await page.getByText(text).first().waitFor()
        await page.screenshot({ path: join(folder, `${title}-${name}.png`), fullPage: name === 'narrow' })
        process.stdout.write(`${join(folder, `${title}-${name}.png`)}\n`)
      }
      await context.close()
    }
  } finally {
    await browser.close()
  }
}
