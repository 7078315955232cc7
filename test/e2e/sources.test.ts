import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const runner = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url))
const server = fileURLToPath(new URL('../../src/bin/server.ts', import.meta.url))

/** Runs a program with a setting that the programs with settings refuse. */
async function run(...args: readonly string[]): Promise<{ stdout: string; stderr: string; code?: number }> {
  const env = { ...process.env, SIGNALBOX_PORT: 'x' }
  return promisify(execFile)(process.execPath, args, { env }).catch((error: unknown) => error as never)
}

// The other tests start them from the build, which links their modules in another way and order.
it.each(['cli', 'simulate'])('npm run %s starts from the sources', async (command) => {
  expect(await run(runner, command, '--help')).toMatchObject({ stdout: expect.stringMatching(/^Usage: /), stderr: '' })
})

it.each([
  ['npm run migrate', [runner, 'migrate']],
  ['the server', [server]],
])('%s starts from the sources', async (_, args) => {
  const stderr = 'signalbox: SIGNALBOX_PORT must be a whole number from 0 to 65535\n'
  expect(await run(...args)).toMatchObject({ code: 1, stdout: '', stderr })
})
