import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../src/cli/client.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { type Demo, startServerProcess } from '../support/servers/server-process.ts'
import { type AtEnd, temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

const run = promisify(execFile)

/** Returns one of the tested blocks of a document; those after the first run with the exports of the first. */
async function readCommands(document: string, block: number): Promise<string> {
  const text = await readFile(new URL(`../../${document}`, import.meta.url), 'utf8')
  const found = text.matchAll(/<!-- tested: test\/e2e\/readme\.test\.ts[^\n]*-->\n```sh\n(.*?)```/gs)
  const blocks = [...found].map(([, script = '']) => script)
  const script = blocks[block]
  if (script === undefined) throw new Error(`${document} shows no commands`)
  const exports = block === 0 ? [] : [...(blocks[0] ?? '').matchAll(/^export (?:BASE_URL|ORG_ID|AUTH)=.*$/gm)]
  return [...exports.map(([line]) => line), script].join('\n')
}

/**
 * Runs a block of commands of a document of the project, beside `data`.
 * @returns The output of each curl command at the start of a line.
 */
async function runCommands(folder: string, document: string, block = 0): Promise<AnyJson[]> {
  const script = await readCommands(document, block)
  const commands = script.replaceAll('\\\n', ' ').replaceAll(/^curl(?:[^\n']|'[^']*')*$/gm, '$&; echo')
  const { stdout } = await run('sh', ['-e', '-c', commands], {
    cwd: folder,
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` },
  })
  return stdout
    .trim()
    .split('\n')
    .map((line): AnyJson => JSON.parse(line))
}

describe('on one demo', () => {
  const ends: (() => Promise<void>)[] = []
  let folder: string
  let demo: Demo
  let call: (path: string) => Promise<AnyJson>
  beforeAll(async () => {
    const atEnd: AtEnd = (end) => ends.unshift(end)
    folder = await temporaryDir(atEnd)
    const dataDir = join(folder, 'data')
    const env = { SIGNALBOX_DEMO_TIME_PERCENT: '2' }
    const server = await startServerProcess({ dataDir, demo: true, env }, atEnd)
    if (server.demo === null) throw new Error('unreachable: the demo was started')
    demo = server.demo
    const client = createClient({ url: server.url, authorization: `Token ${demo.api_token}`, dataDir })
    call = (path) => client.call('GET', path)
  }, 120_000)
  afterAll(async () => {
    for (const end of ends) await end()
  })

  it('runs the commands of the README for Junos devices, and they do what it says', { timeout: 240_000 }, async () => {
    const answers = await runCommands(folder, 'README.md', 1)
    const [member, node, snapshot, restore, commands, upgrade, ...rest] = answers
    expect(rest).toEqual([])
    expect([member, node, snapshot, restore]).toEqual([{}, {}, {}, {}])
    expect(commands).toMatchObject(['restore_backup', 'snapshot', 'restart'].map((kind) => ({ kind })))
    expect(upgrade).toMatchObject({ status: 'starting' })
    const site = `/api/v1/sites/${demo.site_ids[0]}`
    const idOf = (number: string): string => `00000000-0000-0000-1000-02516e0000${number}`
    const until = (number: string, version: string) =>
      waitUntil(
        `version ${version}`,
        async () => (await call(`${site}/stats/devices/${idOf(number)}`)).version === version,
        120_000,
      )
    await until('13', '3.0.0')
    await until('14', '3.2.0')
    // A member or node that restarts is awaited, longer than the restore takes.
    for (const number of ['13', '0e'])
      await waitUntil(
        `each command of ${number} is done`,
        async () => {
          const listed: AnyJson[] = await call(`${site}/devices/${idOf(number)}/commands`)
          return listed.every(({ status }) => status === 'done')
        },
        120_000,
      )
  })

  it('runs the commands of the README for routers and edge appliances', { timeout: 240_000 }, async () => {
    const answers = await runCommands(folder, 'README.md', 2)
    const [nodeRestart, restart, ssrUpgrade, ssrUpgrades, uploaded, edgeUpgrade, edgeUpgrades, ...rest] = answers
    expect(rest).toEqual([])
    expect([nodeRestart, restart]).toEqual([{}, {}])
    expect(ssrUpgrade).toMatchObject({ channel: 'beta', versions: { SSR120: '6.3.0' } })
    expect(ssrUpgrades).toMatchObject([{ id: ssrUpgrade.id }])
    expect(uploaded.packages).toMatchObject([{ package: 'tunterm', version: '2.0.0' }])
    expect(edgeUpgrade).toMatchObject({ versions: { tunterm: '2.0.0' }, counts: { total: 2 } })
    expect(edgeUpgrades).toMatchObject([{ id: edgeUpgrade.id }])
    const site = `/api/v1/sites/${demo.site_ids[0]}`
    const id = '00000000-0000-0000-1000-02516eff0001'
    await waitUntil('the router runs the version of the channel', async () => {
      const { version, status } = await call(`${site}/stats/devices/${id}`)
      return version === '6.3.0' && status === 'connected'
    })
    await waitUntil('each edge appliance runs the version of the package', async () => {
      const edges: AnyJson[] = await call(`/api/v1/orgs/${demo.org_id}/stats/mxedges`)
      return edges.every(({ service_stat }) => service_stat.tunterm.package_version === '2.0.0')
    })
    const commands: AnyJson[] = await call(`${site}/devices/${id}/commands`)
    // Depending on when the router disconnects to restart, the engine takes a first download back, or never learns its result, and
    // repeats it.
    const run = commands.filter(({ kind, status }) => kind !== 'stage' || status === 'done')
    expect(run.map(({ kind, status }) => [kind, status])).toEqual([
      ['activate', 'done'],
      ['stage', 'done'],
      ['restart', 'done'],
      ['restart', 'done'],
    ])
  })

  it('runs the first commands of the README', { timeout: 120_000 }, async () => {
    const answers = await runCommands(folder, 'README.md')
    const [inventory, created, listed, restarted, commands, replaced, ...rest] = answers
    expect(rest).toEqual([])
    expect(inventory).toHaveLength(3)
    expect(created).toMatchObject({ strategy: 'canary', target_version: '3.2.0', upgrades: [{}, {}, {}] })
    expect(listed[0].id).toBe(created.id)
    expect([restarted, replaced]).toEqual([{}, {}])
    // The newest is the first; other tests have upgraded a device and commanded the appliance before.
    expect(commands[0]).toMatchObject({ kind: 'service', params: { service: 'tunterm', action: 'restart' } })
  })
})

it('registers with the commands of the page of accounts', { timeout: 120_000 }, async () => {
  const folder = await temporaryDir()
  await startServerProcess({ dataDir: join(folder, 'data') })
  const [registered, verified, self, ...rest] = await runCommands(folder, 'docs/accounts.md')
  expect(rest).toEqual([])
  expect([registered, verified]).toEqual([{}, {}])
  expect(self).toMatchObject({ email: 'ada@example.com', privileges: [{ org_name: 'Engines', role: 'admin' }] })
})
