import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { addMxedge } from '../support/mxedges.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'
import { order } from './packages.ts'
import { untilConnected } from './start-agent.ts'
import { type EdgeWorld, startEdgeWorld } from './world.ts'

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld()
})
afterAll(() => world.close())

const program = fileURLToPath(new URL('../../src/bin/agent.ts', import.meta.url))

/** Notes its begin and its end in a file; in between it works for longer than an agent needs to start. */
const hook = (notes: string, ms: number): string =>
  `const fs = require('fs'); const note = (what) => fs.appendFileSync(${JSON.stringify(notes)}, what + ' ')
  note('begin'); setTimeout(() => note('end'), ${ms})`

test('a hook that outlives a killed agent never overlaps with its repetition', async () => {
  const { id, magic } = await addMxedge(world)
  const folder = await temporaryDir()
  const notes = join(folder, 'notes')
  await writeFile(notes, '')
  const hooks = join(folder, 'hooks.json')
  await writeFile(hooks, JSON.stringify({ services: {}, distro_upgrade: [process.execPath, '-e', hook(notes, 3000)] }))
  const args = [program, '--state', folder, '--url', world.url, '--code', magic, '--hooks', hooks]
  const start = () => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }
  const killed = start()
  await untilConnected(world, id)
  await order(world, id, { kind: 'upgrade_distro', params: { codename: 'forky', from: 'none' } })
  const noted = async () => (await readFile(notes, 'utf8')).trim().split(' ')
  await waitUntil('the hook has begun', async () => ((await noted()).includes('begin') ? true : null))
  await waitUntil('the hook is recorded', () => readFile(join(folder, 'running-hook.json')).catch(() => null))
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  start()
  await waitUntil('the hook has run twice', async () => ((await noted()).length >= 4 ? true : null), 30_000)
  expect(await noted()).toEqual(['begin', 'end', 'begin', 'end'])
}, 60_000)
