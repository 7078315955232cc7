import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../..', import.meta.url))

type Program = 'server' | 'gateway-thread' | 'apart-process' | 'migrate' | 'cli' | 'signalbox' | 'simulator' | 'agent'

let built: Promise<unknown> | null = null

/**
 * Builds the server as `npm start` does, unless its build is that of the sources. The build has the other programs, too: each
 * starts from there in half the processor time.
 * @returns The file of the program.
 */
export async function builtProgram(name: Program): Promise<string> {
  await (built ??= promisify(execFile)(process.execPath, ['scripts/run.mjs', 'build-server'], { cwd: root }))
  return join(root, `dist/server/${name}.mjs`)
}
