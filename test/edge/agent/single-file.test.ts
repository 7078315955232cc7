import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { version } from '../../../src/platform/version.ts'
import { addMxedge } from '../../support/fleets/mxedges.ts'
import { afterFile } from '../../support/after-file.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { codeOf, newRouterMac, statsOf } from '../routers.ts'
import { doneBy, untilConnected } from '../start-agent.ts'
import { dryRunOf, placeRouter } from '../start-router.ts'
import { type EdgeWorld, startEdgeWorld } from '../world.ts'

let world: EdgeWorld
/** The agent in one file. */
let file: string
beforeAll(async () => {
  world = await startEdgeWorld()
  file = join(await temporaryDir(afterFile), 'agent.mjs')
  await run(process.execPath, [builder, file])
})
afterAll(() => world.close())

const run = promisify(execFile)
const program = fileURLToPath(new URL('../../../src/bin/agent.ts', import.meta.url))
const builder = fileURLToPath(new URL('../../../scripts/build-agent.ts', import.meta.url))

/** The appliance may have an older Node.js than this one. */
const oldest = ['--import', fileURLToPath(new URL('node-20.mjs', import.meta.url))]

test('the agent in one file registers, executes commands and ends when another box replaces it', async () => {
  const folder = await temporaryDir()
  expect((await run(process.execPath, [...oldest, file, '--help'], { cwd: folder })).stdout).toContain(
    'usage: agent --state DIR',
  )

  const { id, magic } = await addMxedge(world)
  const state = join(folder, 'state')
  await mkdir(state)
  const agent = spawn(process.execPath, [...oldest, file, '--state', state, '--url', world.url, '--dry-run'], {
    cwd: folder,
    env: { SIGNALBOX_AGENT_CODE: magic },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(agent, 'exit')
  onTestFinished(() => void agent.kill('SIGKILL'))
  // Whatever reads its output may end.
  agent.stdout.destroy()
  await untilConnected(world, id)
  expect(await doneBy(state)).toEqual(['configure'])
  const session = world.ctx.db.selectFrom('mxedgeSession').select('facts').where('mxedgeId', '=', id)
  expect((await session.executeTakeFirstOrThrow()).facts.agent).toBe(version)
  await world.call('POST', `/orgs/${world.org.orgId}/mxedges/${id}/restart`)
  expect(await exited).toEqual([3, null])
})

test('the agent in one file registers a router, and restarts it', async () => {
  const folder = await temporaryDir()
  const mac = newRouterMac()
  const state = join(folder, 'state')
  await mkdir(state)
  const identity = ['--role', 'ssr', '--mac', mac, '--model', 'SSR120', '--serial', `S${mac}`]
  const agent = spawn(
    process.execPath,
    [...oldest, file, '--state', state, '--url', world.url, '--dry-run', ...identity],
    {
      cwd: folder,
      env: { SIGNALBOX_AGENT_CODE: await codeOf(world) },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  const exited = once(agent, 'exit')
  onTestFinished(() => void agent.kill('SIGKILL'))
  const { siteId, deviceId } = await placeRouter(world, { mac, folder: state })
  expect(await statsOf(world, { siteId, mac })).toMatchObject({ model: 'SSR120', serial: `S${mac}`, version: '6.1.0' })
  await world.call('POST', `/sites/${siteId}/devices/${deviceId}/restart`)
  await waitUntil('the router reboots', async () => (await dryRunOf({ folder: state })).done.length === 1)
  expect((await dryRunOf({ folder: state })).done).toEqual(['reboot'])
  agent.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

test('the user data of a virtual machine starts the agent, which registers', async () => {
  const { id } = await addMxedge(world)
  const { body } = await world.call('GET', `/orgs/${world.org.orgId}/mxedges/${id}/vm_params`)
  const folder = await temporaryDir()
  // Everything that names a place on the machine names one in the folder instead.
  const text = body.user_data.replaceAll(/(?<=[ "=])\/(?=etc|usr\/local|var\/lib)/g, `${folder}/`)
  expect(text.startsWith('#cloud-config\n')).toBe(true)
  const config = JSON.parse(text.slice(text.indexOf('\n')))
  const contents = new Map<string, string>()
  for (const { path, content } of config.write_files) {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
    contents.set(basename(path), content)
  }
  const [[shell, ...shellArgs], ...systemctl] = config.runcmd
  await run(shell, shellArgs)
  expect(systemctl.flat().filter((word: string) => word === 'systemctl')).toHaveLength(systemctl.length)

  const unit = contents.get('signalbox-agent.service') ?? ''
  const [, environmentFile = ''] = /^EnvironmentFile=(.+)$/m.exec(unit) ?? []
  const [name, code] = (await readFile(environmentFile, 'utf8')).trim().split('=')
  const [, commandLine = ''] = /^ExecStart=(.+)$/m.exec(unit) ?? []
  const [program = '', ...args] = commandLine.split(' ')
  await mkdir(dirname(join(folder, 'var/lib/x')), { recursive: true })
  const expected = args.find((word) => word.endsWith('.mjs')) ?? ''
  await mkdir(dirname(expected), { recursive: true })
  await copyFile(file, expected)
  const agent = spawn(program, args, {
    cwd: folder,
    env: { PATH: dirname(process.execPath), [name ?? '']: code },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(agent, 'exit')
  onTestFinished(() => void agent.kill('SIGKILL'))
  await untilConnected(world, id)
  agent.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
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
  [['--state', '/tmp/none', '--dry-run', '--role', 'router'], '--role router is neither edge nor ssr'],
  [['--state', '/tmp/none', '--dry-run', '--role', 'ssr', '--mac', 'here'], '--mac is needed: twelve hex digits'],
  [['--wrong'], "Unknown option '--wrong'"],
])('the program ends with a line that explains it, for %j', async (args, reason) => {
  const failure = run(process.execPath, [...oldest, file, ...args])
  await expect(failure).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(`agent: ${reason}`) })
})
