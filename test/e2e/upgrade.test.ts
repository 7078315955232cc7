import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { type IncomingHttpHeaders, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readJournal } from '../../src/simulator/journal.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

const DEVICES = 61
/** One SRX cluster at each of the three sites. There is no such firmware for them. */
const CLUSTERS = 3
/** The members of each Virtual Chassis; a cluster has two nodes. */
const CHASSIS_MEMBERS = 3
/** There is no such firmware for it. */
const ROUTERS = 1
const UPGRADED = DEVICES - CLUSTERS - ROUTERS
const SECRET = 'hook secret'
const models = 'EAP102,EAP104,ECS4125-10P,EX4100-48P'
const fast = { SIGNALBOX_ROLLOUT_SOAK_S: '0', SIGNALBOX_DEMO_TIME_PERCENT: '2' }

type Targets = Record<string, string[] | number>
interface Upgrade {
  readonly id: string
  readonly upgrades: readonly { readonly upgrade: { readonly status: string; readonly targets: Targets } }[]
}

function apiOf(server: ServerProcess) {
  if (server.demo === null) throw new Error('no demo')
  const { api_token, org_id } = server.demo
  const headers = { authorization: `Token ${api_token}` }
  const org = `${server.url}/api/v1/orgs/${org_id}`
  const json = async (answer: Response): Promise<AnyJson> => {
    const body: AnyJson = await answer.json()
    expect({ status: answer.status, body }).toMatchObject({ status: 200 })
    return body
  }
  return {
    get: async (path: string) => json(await fetch(org + path, { headers })),
    post: async (path: string, body: unknown) =>
      json(
        await fetch(org + path, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      ),
    upload: async (version: string) =>
      json(
        await fetch(`${org}/firmware?version=${version}&models=${models}`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/octet-stream' },
          body: randomBytes(500_000),
        }),
      ),
  }
}

type Api = ReturnType<typeof apiOf>

function count(upgrade: Upgrade, bucket: string): number {
  return upgrade.upgrades.reduce((sum, { upgrade: { targets } }) => {
    const list = targets[bucket]
    return sum + (Array.isArray(list) ? list.length : 0)
  }, 0)
}

async function untilCompleted(api: Api, id: string): Promise<void> {
  await waitUntil(
    'every site upgrade to be completed',
    async () => {
      const detail: Upgrade = await api.get(`/devices/upgrade/${id}`)
      expect(count(detail, 'failed')).toBe(0)
      return detail.upgrades.every(({ upgrade }) => upgrade.status === 'completed')
    },
    120_000,
  )
}

async function expectAllOn(api: Api, version: string): Promise<void> {
  const stats = await api.get('/stats/devices?type=all&limit=1000')
  expect(stats).toHaveLength(DEVICES)
  const isUpgraded = (device: AnyJson): boolean => device.status === 'connected' && device.version === version
  expect(stats.filter(isUpgraded)).toHaveLength(UPGRADED)
}

/** Returns the number of boots of every device but the clusters, from the devices' own records. */
function bootsByMac(dataDir: string): Map<string, number> {
  const folder = join(dataDir, 'demo-fleet')
  const boots = new Map([...readJournal(join(folder, 'devices.jsonl'))].map(([mac, { counts }]) => [mac, counts.boots]))
  for (const name of readdirSync(folder)) {
    const [, mac] = /^junos-(\w+)\.json$/.exec(name) ?? []
    if (mac === undefined) continue
    const { chassis, journal }: AnyJson = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    const reboots = journal.filter((entry: string) => entry === 'reboot').length
    if (chassis.length === CHASSIS_MEMBERS) boots.set(mac, reboots)
  }
  return boots
}

interface Delivery {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

async function startReceiver(): Promise<{ readonly url: string; readonly deliveries: Delivery[] }> {
  const deliveries: Delivery[] = []
  const http = createServer((request, reply) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      deliveries.push({ headers: request.headers, body: Buffer.concat(parts) })
      reply.end('ok')
    })
  })
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve)
  })
  onTestFinished(() => {
    http.close()
    http.closeAllConnections()
  })
  const { port } = http.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hook`, deliveries }
}

it(
  'upgrades an organization, delivers its webhook messages, and continues after kill -9',
  { timeout: 240_000 },
  async () => {
    const dataDir = await temporaryDir()
    const receiver = await startReceiver()
    const server = await startServerProcess({ dataDir, demo: true, env: fast })
    const api = apiOf(server)
    await api.post('/webhooks', {
      name: 'all',
      url: receiver.url,
      secret: SECRET,
      topics: ['audits', 'device-events'],
    })

    const before = bootsByMac(dataDir)
    await api.upload('9.0.0')
    const upgrade: Upgrade = await api.post('/devices/upgrade', {
      all_sites: true,
      strategy: 'canary',
      canary_phases: [30, 100],
      version: '9.0.0',
    })
    await waitUntil(
      'the upgrade to be in the middle',
      async () => {
        const detail: Upgrade = await api.get(`/devices/upgrade/${upgrade.id}`)
        return count(detail, 'upgraded') > 0 && count(detail, 'upgraded') < UPGRADED
      },
      60_000,
    )
    await server.kill('SIGKILL')

    const again = apiOf(await startServerProcess({ dataDir, demo: true, env: fast }))
    await untilCompleted(again, upgrade.id)
    await expectAllOn(again, '9.0.0')
    const after = bootsByMac(dataDir)
    expect(after.size).toBe(UPGRADED)
    for (const [mac, boots] of after) expect({ mac, boots: boots - (before.get(mac) ?? 0) }).toEqual({ mac, boots: 1 })

    const topicOf = ({ body }: Delivery): string => (JSON.parse(body.toString()) as { topic: string }).topic
    await waitUntil('deliveries of both topics', () => new Set(receiver.deliveries.map(topicOf)).size === 2)
    await waitUntil('an event for every upgraded device', () => {
      const upgraded = receiver.deliveries
        .flatMap(({ body }) => (JSON.parse(body.toString()) as { events: { type?: string; mac?: string }[] }).events)
        .filter(({ type }) => type?.endsWith('_UPGRADED'))
      return new Set(upgraded.map(({ mac }) => mac)).size === UPGRADED
    })
    for (const { headers, body } of receiver.deliveries)
      expect(headers['x-mist-signature-v2']).toBe(createHmac('sha256', SECRET).update(body).digest('hex'))
  },
)
