import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { copyPreparedData } from '../support/database/prepared-data.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { readyUrl, serverEnv } from '../support/servers/spawn-server.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What starts a program without any network, not even a connection to the machine itself. */
const WITHOUT_NETWORK = process.getuid?.() === 0 ? ['--net'] : ['--user', '--map-current-user', '--net']

const works = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).status === 0

it.skipIf(!works('systemd-analyze', '--version'))('has a unit that systemd accepts', async () => {
  const unit = await readFile(join(root, 'docs/signalbox.service'), 'utf8')
  const copy = join(await temporaryDir(), 'signalbox.service')
  await writeFile(copy, unit.replaceAll('/opt/signalbox/', root))
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', copy], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})

it.skipIf(!works('unshare', ...WITHOUT_NETWORK, 'true'))(
  'starts without a network, and stops in order',
  { timeout: 60_000 },
  async () => {
    const dataDir = join(await temporaryDir(), 'data')
    await copyPreparedData(dataDir)
    const child = spawn('unshare', [...WITHOUT_NETWORK, process.execPath, await builtProgram('server')], {
      env: { ...serverEnv(dataDir), SIGNALBOX_LOG_LEVEL: 'error' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let said = ''
    child.stderr.on('data', (chunk) => (said += String(chunk)))
    await readyUrl(child)
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(said).toBe('')
  },
)
