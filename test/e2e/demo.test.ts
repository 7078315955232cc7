import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Client, createClient } from '../../src/cli/client.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { programsOf } from '../support/servers/programs-of.ts'
import { type ServerProcess, startFirstServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

interface Listed {
  readonly mac: string
  readonly site_id?: string | null
  readonly connected: boolean
}

const moved = '02516e000001'
const unassigned = '02516e000002'
/** A Virtual Chassis and a cluster, which the service knows by their SSH host keys. */
const junos = ['02516e000013', '02516e00000e']
const router = '02516eff0001'
const channels = [
  ['stable', '6.2.0'],
  ['beta', '6.3.0'],
  ['alpha', '7.0.0'],
] as const

it("starts a second demo with the first one's data, as its user left it", { timeout: 240_000 }, async () => {
  const dataDir = join(await temporaryDir(), 'data')
  const first = await startFirstServerProcess({ dataDir, demo: true })
  const { demo } = first
  if (demo === null) throw new Error('no demo')
  if (process.platform === 'linux')
    expect(programsOf(first.child.pid)).toEqual(
      expect.arrayContaining([await builtProgram('simulator'), await builtProgram('agent')]),
    )
  const inventory = `/api/v1/orgs/${demo.org_id}/inventory`
  const connect = ({ url }: ServerProcess) => createClient({ url, authorization: `Token ${demo.api_token}`, dataDir })
  const before = connect(first)
  await before.call('PUT', inventory, { op: 'assign', site_id: demo.site_ids[1], macs: [moved] })
  await before.call('PUT', inventory, { op: 'unassign', macs: [unassigned] })
  await before.call('PUT', `/api/v1/sites/${demo.site_ids[2]}`, { name: 'Kyoto' })
  const stats = `/api/v1/orgs/${demo.org_id}/stats/mxedges`
  const edges = [
    { name: 'Edge North', status: 'connected' },
    { name: 'Edge South', status: 'connected' },
  ]
  expect(await before.call('GET', stats)).toMatchObject(edges)
  const routerOf = async (client: Client) =>
    client.call('GET', `/api/v1/sites/${demo.site_ids[0]}/stats/devices/00000000-0000-0000-1000-${router}`)
  const running = { status: 'connected', model: 'SSR120', version: '6.1.0' }
  expect(await routerOf(before)).toMatchObject(running)
  for (const [channel, version] of channels)
    expect(await before.call('GET', `/api/v1/orgs/${demo.org_id}/ssr/versions?channel=${channel}`)).toMatchObject([
      { package: 'SSR120', version, default: true },
    ])
  const registration = await readFile(join(dataDir, 'demo-router', 'registration.json'), 'utf8')
  await first.kill('SIGTERM')

  const second = await startServerProcess({ dataDir, demo: true })
  expect(second.demo).toEqual({ ...demo, base_url: second.url })
  expect(JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'))).toEqual(second.demo)
  const after = connect(second)
  const devices = (await after.call('GET', `${inventory}?limit=1000`)) as Listed[] // The specification defines this assignment.
  const siteOf = new Map(devices.map(({ mac, site_id }) => [mac, site_id ?? null]))
  expect(siteOf.size).toBe(61)
  const connected = new Set(devices.filter((device) => device.connected).map(({ mac }) => mac))
  expect(junos.filter((mac) => connected.has(mac))).toEqual(junos)
  expect([siteOf.get(moved), siteOf.get(unassigned)]).toEqual([demo.site_ids[1], null])
  const sites = (await after.call('GET', `/api/v1/orgs/${demo.org_id}/sites`)) as { name: string }[]
  expect(sites.map(({ name }) => name)).toEqual(['Berlin', 'Kyoto', 'New York'])
  expect(await after.call('GET', stats)).toMatchObject(edges)
  expect(await routerOf(after)).toMatchObject(running)
  expect(await readFile(join(dataDir, 'demo-router', 'registration.json'), 'utf8')).toBe(registration)

  // It also starts after a kill, without the router that its user has removed. An appliance whose registration the user has ended stays free.
  await after.call('PUT', inventory, { op: 'delete', macs: [router] })
  const mxedges = `/api/v1/orgs/${demo.org_id}/mxedges`
  const [ended] = (await after.call('GET', mxedges)) as { id: string; name: string }[]
  await after.call('POST', `${mxedges}/${ended?.id}/restart`, {})
  const mark = join(dataDir, 'demo-edges', ended?.id ?? '', 'ended')
  await waitUntil('the end of its agent', () => existsSync(mark))
  let shown: { id: string; status: string }[] = []
  const expectOne = (client: Client) =>
    waitUntil(
      () => `the connection of the other appliance alone, not of ${ended?.id}: ${JSON.stringify(shown)}`,
      async () => {
        shown = (await client.call('GET', stats)) as typeof shown
        return shown.every(({ id, status }) => status === (id === ended?.id ? 'disconnected' : 'connected'))
      },
    )
  // An appliance whose connection the kill ends counts as connected for minutes.
  await expectOne(after)
  await second.kill('SIGKILL')
  const last = connect(await startServerProcess({ dataDir, demo: true }))
  expect(await last.call('GET', `${inventory}?mac=${router}`)).toEqual([])
  expect(await last.call('GET', `${inventory}?limit=1000`)).toHaveLength(60)
  await expectOne(last)
})
