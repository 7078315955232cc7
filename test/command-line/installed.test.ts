import { execFile } from 'node:child_process'
import { cp, mkdir } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { afterFile } from '../support/after-file.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

let server: TestServer
let folder: string
let env: Record<string, string | undefined>
beforeAll(async () => {
  server = await startTestServer()
  folder = await temporaryDir(afterFile)
  await mkdir(join(folder, 'empty'))
  env = {
    PATH: process.env['PATH'],
    // npm keeps its cache and its settings there.
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
    npm_config_prefix: join(folder, 'npm'),
    SIGNALBOX_URL: server.url,
    SIGNALBOX_TOKEN: server.org.token,
  }
})
afterAll(() => server.close())

const orgs = (): unknown => [expect.objectContaining({ id: server.org.orgId })]

it('runs in any folder after npm link', async () => {
  await run('npm', ['link', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: root, env })
  const path = [join(folder, 'npm/bin'), process.env['PATH']].join(delimiter)
  const elsewhere = { cwd: join(folder, 'empty'), env: { ...env, PATH: path } }
  expect((await run('signalbox', ['--help'], elsewhere)).stdout).toMatch(/^Usage: signalbox /)
  expect(JSON.parse((await run('signalbox', ['orgs', '--json'], elsewhere)).stdout)).toEqual(orgs())
  await expect(run('signalbox', ['nope'], elsewhere)).rejects.toMatchObject({ code: 2 })
})

it('runs in the folder of a clone by npx', async () => {
  const here = { cwd: root, env }
  expect((await run('npx', ['signalbox', '--help'], here)).stdout).toMatch(/^Usage: signalbox /)
  expect(JSON.parse((await run('npx', ['signalbox', 'orgs', '--json'], here)).stdout)).toEqual(orgs())
})

it('says in one line that it needs a clone where a package was unpacked', async () => {
  const packed = join(folder, 'packed')
  await cp(join(root, 'scripts'), join(packed, 'scripts'), { recursive: true })
  await cp(join(root, 'package.json'), join(packed, 'package.json'))
  await expect(run(process.execPath, [join(packed, 'scripts/signalbox.mjs'), 'orgs'], { env })).rejects.toMatchObject({
    code: 1,
    stderr: `signalbox: ${packed} has no package-lock.json; run Signalbox from a clone of its repository\n`,
  })
})
