import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Point } from '../../src/agent/points.ts'
import type { AnyJson } from '../support/any-json.ts'
import { addMxedge } from '../support/mxedges.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'
import { order, untilEnded, upgradeOf, uploadPackage } from './packages.ts'
import { doneBy, untilConnected } from './start-agent.ts'
import { type EdgeWorld, eventTypes, startEdgeWorld } from './world.ts'

let world: EdgeWorld
let image: AnyJson
beforeAll(async () => {
  world = await startEdgeWorld()
  image = await uploadPackage(world, '2.0.0', { bytes: randomBytes(400_000) })
})
afterAll(() => world.close())

const program = fileURLToPath(new URL('crashing-agent.ts', import.meta.url))

interface Place {
  readonly folder: string
  readonly code: string
}

/** Starts an agent in a process of its own. */
function startProcess({ folder, code }: Place, crash: readonly [Point, number] | readonly [] = []) {
  const args = [program, folder, world.url, code, ...crash.map(String)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return { exited }
}

async function newPlace(): Promise<Place & { readonly id: string }> {
  const { id, magic } = await addMxedge(world)
  return { id, code: magic, folder: await temporaryDir() }
}

test.each(['key written', 'registered'] as const)(
  'an agent that is killed when it has %s registers with the same key at its next start',
  async (point) => {
    const place = await newPlace()
    expect(await startProcess(place, [point, 1]).exited).toEqual([null, 'SIGKILL'])
    const key = await readFile(join(place.folder, 'key.pem'), 'utf8')
    startProcess(place)
    await untilConnected(world, place.id)
    expect(await readFile(join(place.folder, 'key.pem'), 'utf8')).toBe(key)
    expect((await eventTypes(world, place.id)).filter((type) => type === 'ME_REGISTERED')).toHaveLength(1)
  },
)

// A command that was executed and whose end was not recorded is executed again: each one has the same effect twice.
test.each([
  ['command recorded', 1],
  ['command executed', 2],
  ['answer recorded', 1],
  ['answer sent', 1],
] as const)(
  'an agent that is killed at "%s" completes and answers the command at its next start',
  async (point, times) => {
    const place = await newPlace()
    // The first command brings the configuration.
    const { exited } = startProcess(place, [point, 2])
    await untilConnected(world, place.id)
    const path = `/orgs/${world.org.orgId}/mxedges/${place.id}`
    expect((await world.call('POST', `${path}/services/tunterm/restart`)).status).toBe(200)
    expect(await exited).toEqual([null, 'SIGKILL'])
    startProcess(place)
    const command = await waitUntil('the command is done', async () => {
      const { body } = await world.call('GET', `${path}/commands`)
      return (
        body.find(({ kind, status }: { kind: string; status: string }) => kind === 'service' && status === 'done') ??
        null
      )
    })
    expect(command.params).toEqual({ service: 'tunterm', action: 'restart' })
    expect((await doneBy(place.folder)).filter((done) => done === 'restart tunterm')).toHaveLength(times)
    const events = await eventTypes(world, place.id)
    expect(events.filter((type) => type === 'ME_SERVICE_RESTARTED')).toHaveLength(1)
  },
)

// The installation is not repeated: a service that has the version is left alone.
test.each([
  ['command recorded', 2],
  ['part written', 3],
  ['artifact downloaded', 1],
  ['package installed', 1],
  ['command executed', 2],
  ['answer recorded', 2],
  ['answer sent', 2],
] as const)(
  'an agent that is killed at "%s" completes the upgrade of a service, which is installed once',
  async (...crash) => {
    const place = await newPlace()
    const { exited } = startProcess(place, crash)
    await untilConnected(world, place.id)
    await order(world, place.id, upgradeOf(image))
    expect(await exited).toEqual([null, 'SIGKILL'])
    startProcess(place)
    await untilEnded(world, place.id, 'done')
    expect(await doneBy(place.folder)).toEqual(['configure', 'install tunterm 2.0.0 of 400000 bytes'])
    expect(await readdir(join(place.folder, 'artifacts')).catch(() => [])).toEqual([])
    const events = await eventTypes(world, place.id)
    expect(events.filter((type) => type === 'ME_PACKAGE_UPDATED')).toHaveLength(1)
  },
)

test.each([
  ['support collected', 1],
  ['support uploaded', 1],
  ['command executed', 2],
  ['answer recorded', 2],
] as const)(
  'an agent that is killed at "%s" completes the upload of support files, of which one stays',
  async (...crash) => {
    const place = await newPlace()
    const { exited } = startProcess(place, crash)
    await untilConnected(world, place.id)
    const path = `/orgs/${world.org.orgId}/mxedges/${place.id}/support`
    expect((await world.call('POST', path)).status).toBe(200)
    expect(await exited).toEqual([null, 'SIGKILL'])
    startProcess(place)
    await waitUntil('the command is done', async () =>
      (await eventTypes(world, place.id)).includes('ME_SUPPORT_FILES_UPLOADED'),
    )
    expect((await world.call('GET', path)).body).toHaveLength(1)
    expect((await readdir(place.folder)).filter((name) => name.startsWith('support'))).toEqual([])
  },
)

test.each([
  ['command recorded', 2],
  ['package installed', 1],
  ['command executed', 2],
] as const)('an agent that is killed at "%s" upgrades its distribution by one release', async (...crash) => {
  const place = await newPlace()
  const { exited } = startProcess(place, crash)
  await untilConnected(world, place.id)
  await order(world, place.id, { kind: 'upgrade_distro', params: { codename: 'next', from: 'bookworm' } })
  expect(await exited).toEqual([null, 'SIGKILL'])
  startProcess(place)
  await untilEnded(world, place.id, 'done')
  expect(await doneBy(place.folder)).toEqual(['configure', 'upgrade to trixie'])
})
