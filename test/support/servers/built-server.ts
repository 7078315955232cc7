import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../..', import.meta.url))

let built: Promise<string> | null = null

/** Builds the server as `npm start` does, unless its build is that of the sources. @returns The program. */
export function builtServer(): Promise<string> {
  return (built ??= build())
}

async function build(): Promise<string> {
  await promisify(execFile)(process.execPath, ['scripts/run.mjs', 'build-server'], { cwd: root })
  return join(root, 'dist/server/server.mjs')
}
