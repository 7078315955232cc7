import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addSite } from '../support/fleets/devices.ts'
import { mayRunAsOther, otherUser } from '../support/other-user.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import type { Result } from './run-signalbox.ts'

let server: TestServer
let program: string
beforeAll(async () => {
  program = await builtProgram('signalbox')
  server = await startTestServer()
  await addSite(server, 'North')
})
afterAll(() => server.close())

interface Situation {
  readonly env: Record<string, string>
  readonly cwd?: string
  readonly uid?: number
  readonly gid?: number
}

async function signalbox(args: readonly string[], { env, ...others }: Situation): Promise<Result> {
  const child = spawn(process.execPath, [program, ...args], { env: { PATH: process.env['PATH'], ...env }, ...others })
  child.stdin.end('token\n')
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode ?? -1, out, err }
}

// The server is not asked.
const login = ['login', '--url', 'http://127.0.0.1:9', '--token-stdin']
const refused = { code: 2, err: expect.stringMatching(/^.*no home folder: set HOME or XDG_CONFIG_HOME,.*\n$/) }

it.skipIf(!mayRunAsOther)('a user without a home folder and a name has a token of the environment', async () => {
  const as = (args: readonly string[], env: Record<string, string>) => signalbox(args, { env, ...otherUser })
  const signedIn = await as(['sites'], { SIGNALBOX_URL: server.url, SIGNALBOX_TOKEN: server.org.token })
  expect(signedIn).toMatchObject({ code: 0, out: expect.stringContaining('North'), err: '' })
  expect(await as(['sites'], {})).toMatchObject({ code: 3, err: expect.stringContaining('not signed in') })
  expect(await as(['logout'], {})).toMatchObject({ code: 0, err: '' })
  expect(await as(login, {})).toMatchObject(refused)
})

it('no token is stored in the current folder if the home folder has no path', async () => {
  const cwd = await temporaryDir()
  expect(await signalbox(login, { env: { HOME: '' }, cwd })).toMatchObject(refused)
  expect(await readdir(cwd)).toEqual([])
})
