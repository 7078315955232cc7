import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished, vi } from 'vitest'
import { builtProgram } from '../support/servers/built-program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** The test creates a database, which takes long on a busy machine. */
vi.setConfig({ testTimeout: 120_000 })

it.skipIf(process.platform !== 'linux')('warns if the limit of open files allows only few devices', async () => {
  const program = await builtProgram('server')
  const child = spawn('sh', ['-c', 'ulimit -n 1024 && exec "$0" "$@"', process.execPath, program], {
    env: {
      ...process.env,
      SIGNALBOX_DATA_DIR: join(await temporaryDir(), 'data'),
      SIGNALBOX_PORT: '0',
      SIGNALBOX_UCENTRAL_PORT: '0',
      SIGNALBOX_EDGE_PORT: '0',
      SIGNALBOX_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = new Promise((resolve) => child.once('close', resolve))
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await exited
  })
  const [line] = await new Promise<string[]>((resolve) => {
    createInterface({ input: child.stderr }).once('line', (first) => resolve([first]))
  })
  expect(JSON.parse(line ?? '')).toMatchObject({
    level: 40,
    openFiles: 1024,
    devices: 524,
    msg: expect.stringContaining('may open 1024 files, which is enough for about 524 devices'),
  })
})
