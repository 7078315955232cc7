import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const module = fileURLToPath(new URL('../../../src/platform/process/lower-helper-threads.ts', import.meta.url))

/** Prints the priorities of its main thread and of its helpers. */
const program = `
  import { readFileSync, readdirSync } from 'node:fs'
  import { getPriority } from 'node:os'
  import { lowerHelperThreads } from ${JSON.stringify(module)}
  const nameOf = (id) => readFileSync('/proc/self/task/' + id + '/comm', 'utf8').trim()
  await lowerHelperThreads()
  const helpers = readdirSync('/proc/self/task').filter((id) => nameOf(id) === 'libuv-worker')
  console.log(JSON.stringify({ main: getPriority(process.pid), helpers: helpers.map((id) => getPriority(Number(id))) }))`

test.runIf(process.platform === 'linux')('helper threads have a lower priority than the main thread', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    '--input-type=module',
    '--eval',
    program,
  ])
  const { main, helpers } = JSON.parse(stdout) as { readonly main: number; readonly helpers: readonly number[] }
  expect(helpers.length).toBeGreaterThanOrEqual(4)
  expect(new Set(helpers)).toEqual(new Set([Math.min(main + 10, 19)]))
})
