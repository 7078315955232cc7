// The real server is killed while an edge appliance or a router works on a command of its upgrade.
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { dryRunAppliance } from '../../../src/agent/dry-run.ts'
import { createEdgeRole } from '../../../src/agent/edge-role.ts'
import type { OnPoint, Point } from '../../../src/agent/points.ts'
import { dryRunRouter } from '../../../src/agent/router/router-dry-run.ts'
import { createRouterRole } from '../../../src/agent/router/router-role.ts'
import { type AgentOptions, runAgent } from '../../../src/agent/run-agent.ts'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { afterFile } from '../../support/after-file.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { type KillableService, startKillableService } from '../../support/servers/killable-service.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { newRouterMac } from '../routers.ts'
import { doneBy } from '../start-agent.ts'
import { dryRunOf } from '../start-router.ts'

const WITHIN_MS = 60_000
const IMAGE_BYTES = 200_000

let world: KillableService
beforeAll(async () => {
  world = await startKillableService(afterFile)
  const { client, org } = world
  await client.upload(`${org}/firmware?version=6.2.0&models=SSR120&tag=stable`, Buffer.alloc(IMAGE_BYTES, 'r'))
  await client.upload(`${org}/firmware?version=2.0.0&package=tunterm`, Buffer.alloc(IMAGE_BYTES, 'p'))
}, 2 * WITHIN_MS)

/** Runs an agent in this process, which survives the server, until the test ends. */
function start(options: Pick<AgentOptions, 'folder' | 'roleOf' | 'onPoint'>, code: string): void {
  const stopping = new AbortController()
  const ended = runAgent({
    ...options,
    registration: { url: world.service.url, code },
    gateway: { host: '127.0.0.1', port: world.service.edgePort },
    version: '0.1.0',
    log: () => {},
    signal: stopping.signal,
  })
  onTestFinished(async () => {
    stopping.abort()
    await ended.catch(() => null)
  })
}

/** An upgrade of one machine. */
interface Upgrade {
  readonly read: () => Promise<AnyJson>
  readonly expectUpgradedOnce: () => Promise<void>
}

async function upgradeRouter(onPoint: OnPoint): Promise<Upgrade> {
  const { client, org, siteId } = world
  const mac = newRouterMac()
  const place = { folder: await temporaryDir() }
  const { registration_code: code } = await world.get(`${org}/ssr/register_cmd`)
  start(
    {
      ...place,
      roleOf: async (parts) =>
        createRouterRole(parts, await dryRunRouter(parts.state), { mac, model: 'SSR120', serial: `S${mac}` }),
      onPoint,
    },
    code,
  )
  await waitUntil(
    'the router has registered',
    async () => (await world.get(`${org}/inventory?mac=${mac}`)).length === 1,
  )
  await client.call('PUT', `${org}/inventory`, { op: 'assign', site_id: siteId, macs: [mac] })
  const stats = `/api/v1/sites/${siteId}/stats/devices/${deviceIdOf(mac)}`
  await waitUntil('the router is connected', async () => (await world.get(stats)).status === 'connected')
  const { id } = await world.post(`${org}/ssr/upgrade`, { device_ids: [deviceIdOf(mac)] })
  return {
    read: () => world.get(`${org}/ssr/upgrade/${id}`),
    async expectUpgradedOnce() {
      const record = await world.get(`${org}/ssr/upgrade/${id}`)
      expect(record).toMatchObject({ status: 'completed', targets: { success: [mac], failed: [] } })
      const { version, done } = await dryRunOf(place)
      expect({ version, done }).toEqual({ version: '6.2.0', done: [`install 6.2.0 of ${IMAGE_BYTES} bytes`, 'reboot'] })
    },
  }
}

async function upgradeEdge(onPoint: OnPoint): Promise<Upgrade> {
  const { org } = world
  const place = await temporaryDir()
  const { id: mxedgeId, magic } = await world.post(`${org}/mxedges`, { name: place, model: 'ME-VM' })
  start({ folder: place, roleOf: (parts) => createEdgeRole(parts, dryRunAppliance(parts.state)), onPoint }, magic)
  await waitUntil('the edge appliance is configured', async () => (await doneBy(place)).length === 1)
  const { id } = await world.post(`${org}/mxedges/upgrade`, { mxedge_ids: [mxedgeId], versions: { tunterm: '2.0.0' } })
  return {
    read: () => world.get(`${org}/mxedges/upgrade/${id}`),
    async expectUpgradedOnce() {
      const record = await world.get(`${org}/mxedges/upgrade/${id}`)
      expect(record).toMatchObject({ status: 'completed', counts: { success: 1, failed: 0 } })
      expect((await doneBy(place)).filter((what) => what !== 'configure')).toEqual([
        `install tunterm 2.0.0 of ${IMAGE_BYTES} bytes`,
      ])
    },
  }
}

type StartUpgrade = typeof upgradeRouter

/** Kills the server at the point, at which the agent can't have answered, and starts it again. */
async function upgradeAndKill(startUpgrade: StartUpgrade, point: Point): Promise<Upgrade> {
  const { service } = world
  const killed = Promise.withResolvers<unknown>()
  let isKilled = false
  const upgrade = await startUpgrade((reached) => {
    if (reached !== point || isKilled) return
    isKilled = true
    killed.resolve(service.end('SIGKILL'))
  })
  await killed.promise
  service.start()
  expect(await service.ready()).toBe(true)
  return upgrade
}

test(
  'a kill of the server during the download, the installation or the reboot repeats nothing',
  { timeout: 5 * WITHIN_MS },
  async () => {
    const moments = [
      [upgradeRouter, 'part written'],
      [upgradeRouter, 'package installed'],
      [upgradeRouter, 'reboot begun'],
      [upgradeEdge, 'part written'],
      [upgradeEdge, 'package installed'],
    ] as const
    const upgrades: Upgrade[] = []
    for (const [startUpgrade, point] of moments) upgrades.push(await upgradeAndKill(startUpgrade, point))
    for (const { read, expectUpgradedOnce } of upgrades) {
      const isOver = async (): Promise<boolean> => ['completed', 'failed'].includes((await read()).status)
      await waitUntil('the upgrade is over', isOver, 2 * WITHIN_MS)
      await expectUpgradedOnce()
    }
  },
)
