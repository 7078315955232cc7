import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Point } from '../../src/agent/points.ts'
import type { Poller } from '../../src/platform/poller.ts'
import { defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { startRollouts } from '../../src/rollout/worker.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'
import { codeOf, newRouterMac, statsOf } from './routers.ts'
import { dryRunOf, placeRouter, uploadImage } from './start-router.ts'
import { type EdgeWorld, startEdgeWorld } from './world.ts'

let world: EdgeWorld
let engine: Poller
beforeAll(async () => {
  world = await startEdgeWorld()
  engine = startRollouts(world.ctx, { ...defaultRolloutOptions, soakMs: 0, retryMs: 5 })
  await uploadImage(world, '6.2.0')
})
afterAll(async () => {
  await engine.stop()
  await world.close()
})

const program = fileURLToPath(new URL('crashing-router.ts', import.meta.url))

interface Place {
  readonly folder: string
  readonly code: string
  readonly mac: string
}

/** Starts the agent of a router in a process of its own. */
function startProcess({ folder, code, mac }: Place, crash: readonly [Point, number] | readonly [] = []) {
  const args = [program, folder, world.url, code, mac, ...crash.map(String)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return { exited }
}

async function newPlace(): Promise<Place> {
  return { folder: await temporaryDir(), code: await codeOf(world), mac: newRouterMac() }
}

test.each(['key written', 'registered'] as const)(
  'a router that is killed when it has %s registers with the same key at its next start',
  async (point) => {
    const place = await newPlace()
    expect(await startProcess(place, [point, 1]).exited).toEqual([null, 'SIGKILL'])
    const key = await readFile(join(place.folder, 'key.pem'), 'utf8')
    startProcess(place)
    await placeRouter(world, place)
    expect(await readFile(join(place.folder, 'key.pem'), 'utf8')).toBe(key)
  },
)

// Each point in the life of the two commands of an upgrade; "2" is the second command.
test.each([
  ['command recorded', 1],
  ['part written', 1],
  ['artifact downloaded', 1],
  ['answer recorded', 1],
  ['answer sent', 1],
  ['command recorded', 2],
  ['package installed', 1],
  ['reboot recorded', 1],
  ['reboot begun', 1],
  ['command executed', 2],
  ['answer recorded', 2],
] as const)(
  'a router that is killed at "%s" (%i) is upgraded after its next start, and reboots once',
  async (point, count) => {
    const place = await newPlace()
    const { exited } = startProcess(place, [point, count])
    const router = await placeRouter(world, place)
    const body = { device_ids: [router.deviceId] }
    const { id } = (await world.call('POST', `/orgs/${world.org.orgId}/ssr/upgrade`, { body })).body
    const { status } = await waitUntil('the agent is killed, or the upgrade has ended', async () => {
      engine.wake()
      return Promise.race([exited.then(() => ({ status: 'killed' })), pause()])
    })
    expect(status).toBe('killed')
    startProcess(place)
    await waitUntil('the upgrade is completed', async () => {
      // The agent is a process of its own, whose start takes longer on a busy machine: without it, time stands still.
      if ((await statsOf(world, router)).status === 'connected') world.advance(100)
      engine.wake()
      const record = (await world.call('GET', `/orgs/${world.org.orgId}/ssr/upgrade/${id}`)).body
      return record.status === 'completed'
    })
    const { done, version } = await dryRunOf(router)
    expect(version).toBe('6.2.0')
    expect(done.filter((what) => what === 'reboot')).toHaveLength(1)
  },
)

function pause(): Promise<null> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(null), 20)
  })
}
