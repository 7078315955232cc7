import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { version } from '../../src/platform/version.ts'
import { addMxedge } from '../support/mxedges.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { doneBy, untilConnected } from './start-agent.ts'
import { type EdgeWorld, startEdgeWorld } from './world.ts'

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld()
})
afterAll(() => world.close())

const run = promisify(execFile)
const program = fileURLToPath(new URL('../../src/bin/agent.ts', import.meta.url))
const builder = fileURLToPath(new URL('../../scripts/build-agent.ts', import.meta.url))

test('the agent in one file registers, executes commands and ends when another box replaces it', async () => {
  const folder = await temporaryDir()
  const file = join(folder, 'agent.mjs')
  await run(process.execPath, [builder, file])
  expect((await run(process.execPath, [file, '--help'], { cwd: folder })).stdout).toContain('usage: agent --state DIR')

  const { id, magic } = await addMxedge(world)
  const state = join(folder, 'state')
  await mkdir(state)
  const agent = spawn(process.execPath, [file, '--state', state, '--url', world.url, '--dry-run'], {
    cwd: folder,
    env: { SIGNALBOX_AGENT_CODE: magic },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(agent, 'exit')
  onTestFinished(() => void agent.kill('SIGKILL'))
  await untilConnected(world, id)
  expect(await doneBy(state)).toEqual(['configure'])
  const session = world.ctx.db.selectFrom('mxedgeSession').select('facts').where('mxedgeId', '=', id)
  expect((await session.executeTakeFirstOrThrow()).facts.agent).toBe(version)
  await world.call('POST', `/orgs/${world.org.orgId}/mxedges/${id}/restart`)
  expect(await exited).toEqual([3, null])
})

test.each([
  [[], '--state is needed'],
  [['--state', '/tmp/none'], 'Either --hooks or --dry-run is needed'],
  [['--state', '/tmp/none', '--dry-run', '--hooks', 'x'], 'Either --hooks or --dry-run is needed'],
  [['--state', '/tmp/none', '--dry-run', '--gateway', 'here'], '--gateway here is not HOST:PORT'],
  [
    ['--state', '/tmp/none', '--dry-run', '--package-key', program],
    `--package-key ${program} is not an Ed25519 public key`,
  ],
  [['--wrong'], "Unknown option '--wrong'"],
])('the program ends with a line that explains it, for %j', async (args, reason) => {
  const failure = run(process.execPath, [program, ...args])
  await expect(failure).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(`agent: ${reason}`) })
})
