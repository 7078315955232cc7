import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import {
  type RouterDryRun,
  type RouterDryRunOptions,
  dryRunRouter,
  readRouterDryRun,
} from '../../src/agent/router/router-dry-run.ts'
import { createRouterRole } from '../../src/agent/router/router-role.ts'
import { runAgent } from '../../src/agent/run-agent.ts'
import { openState } from '../../src/agent/state.ts'
import { addSite } from '../support/fleets/devices.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'
import { assignRouter, codeOf, newRouterMac, statsOf } from './routers.ts'
import type { EdgeWorld } from './world.ts'

export interface RouterPlace {
  readonly mac: string
  readonly deviceId: string
  readonly siteId: string
  readonly folder: string
}

export interface StartedRouter extends RouterPlace {
  readonly stop: () => Promise<unknown>
}

/** Starts the real agent of a router that changes nothing on this machine, in this process, and puts it into a site. */
export async function startRouter(world: EdgeWorld, options: RouterDryRunOptions = {}): Promise<StartedRouter> {
  const mac = newRouterMac()
  const folder = await temporaryDir()
  const stopping = new AbortController()
  const ended = runAgent({
    folder,
    roleOf: async (parts) =>
      createRouterRole(parts, await dryRunRouter(parts.state, options), { mac, model: 'SSR120', serial: `S${mac}` }),
    registration: { url: world.url, code: await codeOf(world) },
    version: '0.1.0',
    log: () => {},
    signal: stopping.signal,
  })
  const stop = (): Promise<unknown> => {
    stopping.abort()
    return ended.catch(() => null)
  }
  onTestFinished(() => void stop())
  return { ...(await placeRouter(world, { mac, folder })), stop }
}

/** Waits until the router has registered, and puts it into a new site. */
export async function placeRouter(
  world: EdgeWorld,
  { mac, folder }: Pick<RouterPlace, 'mac' | 'folder'>,
): Promise<RouterPlace> {
  const isKnown = () =>
    world.ctx.db.selectFrom('routerKey').select('deviceId').where('deviceId', '=', deviceIdOf(mac)).executeTakeFirst()
  await waitUntil('the router has registered', async () => (await isKnown()) ?? null)
  const siteId = await addSite(world)
  await assignRouter(world, { siteId, mac })
  await waitUntil('the router is connected', async () => {
    return (await statsOf(world, { siteId, mac })).status === 'connected'
  })
  return { mac, deviceId: deviceIdOf(mac), siteId, folder }
}

export async function dryRunOf({ folder }: Pick<RouterPlace, 'folder'>): Promise<RouterDryRun> {
  const journal = await readRouterDryRun(await openState(folder))
  if (journal === null) throw new Error('the router has done nothing')
  return journal
}

/** Uploads an image for SSR120. @returns Its size. */
export async function uploadImage(world: EdgeWorld, version: string, tag = 'stable'): Promise<number> {
  const image = randomBytes(200_000)
  const query = new URLSearchParams({ version, models: 'SSR120', tag })
  const answer = await fetch(`${world.url}/api/v1/orgs/${world.org.orgId}/firmware?${query.toString()}`, {
    method: 'POST',
    headers: { authorization: `Token ${world.org.token}`, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(image),
  })
  if (answer.status !== 200) throw new Error(`the upload was answered ${answer.status}`)
  return image.length
}
