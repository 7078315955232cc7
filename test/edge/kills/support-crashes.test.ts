// The real server, the real agent, or both are killed while an edge appliance uploads its support files.
import { randomBytes } from 'node:crypto'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { bundleAgent } from '../../../scripts/bundle-agent.ts'
import { afterFile } from '../../support/after-file.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { type KillableService, startKillableService } from '../../support/servers/killable-service.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { KillableAgent, createMachine } from './killable-agent.ts'

const WITHIN_MS = 120_000
/** The server takes a second for so much. */
const archive = randomBytes(24 * 1024 * 1024)

let world: KillableService
let program: string
let place: string
beforeAll(async () => {
  place = await temporaryDir(afterFile)
  program = join(place, 'agent.mjs')
  world = await startKillableService(afterFile)
  await bundleAgent(fileURLToPath(new URL('killed-agent.ts', import.meta.url)), program)
}, WITHIN_MS)

/** Starts the agent of a new appliance that collects the archive. @returns The agent, and the path of the appliance. */
async function startAppliance() {
  const { client, org, service } = world
  const { id, magic } = (await client.call('POST', `${org}/mxedges`, { name: 'Edge', model: 'ME-VM' })) as AnyJson
  const machine = join(place, 'machine')
  await createMachine(machine, '1.0.0')
  await writeFile(join(machine, 'archive'), archive)
  const settings = { folder: join(place, 'agent'), machine, url: service.url, code: magic }
  const agent = new KillableAgent(program, { role: 'edge', mac: '', ...settings })
  afterFile(() => agent.end())
  agent.start(null)
  const path = `${org}/mxedges/${id}`
  const isConfigured = ({ kind, status }: AnyJson): boolean => kind === 'configure' && status === 'done'
  await waitUntil(
    'the agent is configured',
    async () => (await world.get(`${path}/commands`)).some(isConfigured),
    WITHIN_MS,
  )
  return { agent, path }
}

async function hasBegun(): Promise<boolean> {
  const incoming = join(world.service.dataDir, 'support', 'incoming')
  const names = await readdir(incoming)
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(incoming, name))).size))
  return sizes.some((size) => size > 0)
}

async function restartServer(): Promise<void> {
  const { service } = world
  await service.end('SIGKILL')
  service.start()
  expect(await service.ready()).toBe(true)
}

test(
  'a kill of the server, the agent or both during an upload costs no support file',
  { timeout: 4 * WITHIN_MS },
  async () => {
    const { agent, path } = await startAppliance()
    for (const killed of [['server'], ['agent'], ['server', 'agent']]) {
      await agent.untilSettled()
      await world.client.call('POST', `${path}/support`, {})
      await waitUntil('the upload has begun', hasBegun)
      if (killed.includes('agent')) await agent.end()
      if (killed.includes('server')) await restartServer()
      if (killed.includes('agent')) agent.start(null)
      const command = await waitUntil(
        'the command has ended',
        async () => {
          const [newest] = await world.get(`${path}/commands?limit=1`)
          return ['queued', 'sent', 'unknown'].includes(newest.status) ? null : newest
        },
        WITHIN_MS,
      )
      expect(command, `killed: ${killed.join(', ')}`).toMatchObject({ kind: 'support', status: 'done' })
      const [file, ...others] = await world.get(`${path}/support`)
      expect([file.id, others]).toEqual([command.id, []])
      expect(Buffer.from(await (await fetch(file.url)).arrayBuffer()).equals(archive)).toBe(true)
      await world.client.call('DELETE', `${path}/support/${file.id}`)
    }
    expect(await readdir(join(world.service.dataDir, 'support'))).toEqual(['incoming'])
  },
)
