import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startServerProcess } from '../support/servers/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** The level of the log. */
const WARN = 40

it(
  'stops gracefully, with the reason, when the thread of the gateway ends by an error',
  { timeout: 120_000 },
  async () => {
    const folder = await temporaryDir()
    const dataDir = join(folder, 'data')
    const crashFile = join(folder, 'crash')
    const { child } = await startServerProcess({
      dataDir,
      env: {
        SIGNALBOX_TEST_CRASH_FILE: crashFile,
        NODE_OPTIONS: `--import=${new URL('../support/servers/crash-gateway.ts', import.meta.url).href}`,
      },
    })
    let logged = ''
    child.stderr?.on('data', (text: Buffer) => (logged += text.toString()))
    const exited = once(child, 'close')
    await writeFile(crashFile, '')
    expect(await exited).toEqual([1, null])
    const lines = logged.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
    // A busy machine may have caused warnings.
    const errors = lines.filter(({ level }) => level > WARN)
    // The thread of the server and the thread that logs write to the same pipe, in no agreed order.
    expect(errors.toSorted((one, other) => one.level - other.level)).toMatchObject([
      { level: 50, msg: 'the gateway ended', err: { message: 'a defect of the test', stack: expect.any(String) } },
      { level: 60, msg: 'the gateway ended: a defect of the test' },
    ])
    expect(existsSync(join(dataDir, 'server.json'))).toBe(false)
  },
)
