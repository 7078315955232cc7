import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configurationFile } from '../../src/client/configuration.ts'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { uploadPackage } from '../edge/upgrades/packages.ts'
import { addBox, playUpgrades, upgrade as upgradeBoxes } from '../edge/upgrades/upgrade-world.ts'
import { NEW, createFleet, seedOrg } from '../support/fleets/fleet.ts'
import { type MadeDevice, addSite, claimNewDevice, connectDevice } from '../support/fleets/devices.ts'
import { addPrivilege } from '../support/people.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { type Result, runSignalbox } from './run-signalbox.ts'

const run = promisify(execFile)

let server: TestServer
let program: string
let siteId: string
let device: MadeDevice

beforeAll(async () => {
  program = await builtProgram('signalbox')
  server = await startTestServer()
  siteId = await addSite(server, 'North')
  device = await claimNewDevice(server, { siteId })
  await connectDevice(server.ctx, device.mac)
  await server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { name: 'Hall' } })
})
afterAll(() => server.close())

const signalbox = (args: readonly string[], env: Record<string, string> = {}): Promise<Result> =>
  runSignalbox({ url: server.url, token: server.org.token }, args, env)

async function json(...args: string[]): Promise<AnyJson> {
  const { code, out, err } = await signalbox([...args, '--json'])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

describe('signing in', () => {
  const login = async (folder: string, token: string): Promise<Result> => {
    const env = { ...process.env, XDG_CONFIG_HOME: folder, SIGNALBOX_TOKEN: undefined }
    const child = spawn(process.execPath, [program, 'login', '--url', server.url, '--token-stdin'], { env })
    child.stdin.end(`${token}\n`)
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: child.exitCode ?? -1, out, err }
  }

  it('keeps a token that only its owner can read, and later commands use it', async () => {
    const folder = await temporaryDir()
    const file = configurationFile({ XDG_CONFIG_HOME: folder })
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, '{}', { mode: 0o644 })
    expect(await login(folder, server.org.token)).toMatchObject({ code: 0, err: '' })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ url: server.url, org_id: server.org.orgId })
    const env = { PATH: process.env['PATH'], XDG_CONFIG_HOME: folder }
    const { stdout } = await run(process.execPath, [program, 'sites', '--json'], { env })
    expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ id: siteId, name: 'North' }))
    await run(process.execPath, [program, 'logout'], { env })
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('refuses a wrong token, and keeps nothing', async () => {
    const folder = await temporaryDir()
    expect(await login(folder, 'wrong')).toMatchObject({ code: 3, err: expect.stringContaining('401') })
    await expect(stat(join(folder, 'signalbox'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('sends no token to another server than the one that made it', async () => {
    const folder = await temporaryDir()
    await login(folder, server.org.token)
    const env = { PATH: process.env['PATH'], XDG_CONFIG_HOME: folder }
    const elsewhere = run(process.execPath, [program, 'orgs', '--url', 'http://127.0.0.1:9'], { env })
    await expect(elsewhere).rejects.toMatchObject({ code: 3, stderr: expect.stringContaining('not signed in') })
  })
})

describe('exit codes', () => {
  it.each([
    ['an unknown command', ['nope'], {}, 2],
    ['an unknown option', ['sites', '--nope'], {}, 2],
    ['an organization that nobody knows', ['sites', '--org', 'Nowhere'], {}, 2],
    ['no credentials', ['whoami'], { SIGNALBOX_TOKEN: '' }, 3],
    ['a refused request', ['upgrade', 'plan', '9.9.9'], {}, 4],
    ['an unknown id', ['upgrade', 'show', '00000000-0000-4000-8000-000000000000'], {}, 4],
    ['a server that is away', ['whoami'], { SIGNALBOX_URL: 'http://127.0.0.1:9' }, 5],
    ['help', ['devices', '--help'], {}, 0],
  ])('say %s', async (_what, args, env, code) => {
    const result = await signalbox(args, env)
    expect(result).toMatchObject({ code })
    if (code !== 0) expect(result.err).not.toMatch(/^ +at /m)
  })
})

describe('devices', () => {
  it('are listed, found by name and by MAC address, and shown', async () => {
    const { out } = await signalbox(['devices', 'list', '--site', 'North'])
    const [heading, line] = out.split('\n')
    expect(heading).toMatch(/^NAME +MAC +TYPE +MODEL +STATUS/)
    expect(line).toMatch(new RegExp(`^Hall +${device.mac} +ap +AP45 +connected`))
    for (const part of ['al', device.mac.slice(0, 8), device.mac.toUpperCase().replaceAll(/(..)(?!$)/g, '$1:')])
      expect(await json('devices', 'search', part)).toContainEqual(expect.objectContaining({ mac: device.mac }))
    for (const named of ['Hall', device.mac, device.id])
      expect(await json('devices', 'show', named)).toMatchObject({ id: device.id, name: 'Hall' })
  })

  it('are commanded by name, and refused where several or none have it', async () => {
    expect(await signalbox(['devices', 'restart', 'Hall'])).toMatchObject({
      code: 0,
      out: `device ${device.mac} restarts\n`,
    })
    const { body } = await server.call('GET', `/sites/${siteId}/devices/${device.id}/commands`)
    expect(body).toContainEqual(expect.objectContaining({ kind: 'restart' }))
    expect(await signalbox(['devices', 'restart', 'Cellar'])).toMatchObject({
      code: 2,
      err: 'signalbox: no device is named "Cellar"\n',
    })
  })
})

describe('upgrades', () => {
  it('are planned, started by the plan, paused, resumed, cancelled, and watched to their end', async () => {
    const admin = await server.addOrg('Fleet')
    const org = await seedOrg(server.ctx, [{ devices: 3, name: 'Berlin' }], admin.orgId)
    const fleet = createFleet(server.ctx, [org])
    await fleet.connect(org.sites.flatMap((site) => site.devices))
    const { signal } = new AbortController()
    const advance = () => advanceRollouts(server.ctx, { ...defaultRolloutOptions, soakMs: 0 }, signal)
    const upgrade = (...args: string[]): Promise<Result> =>
      signalbox(['upgrade', ...args], { SIGNALBOX_TOKEN: admin.token })
    const found = async (...args: string[]): Promise<AnyJson> => JSON.parse((await upgrade(...args, '--json')).out)
    const what = [NEW, '--site', 'Berlin', '--strategy', 'canary', '--phases', '50,100', '--set', 'max_in_flight=2']
    expect((await upgrade('plan', ...what)).out).toMatch(/^3 devices would be upgraded.*\nPHASE +PERCENT +DEVICES/)
    const plan = await found('plan', ...what)
    expect(plan).toMatchObject({ total: 3, phases: [{ percent: 50 }, { percent: 100 }] })
    const windows = 'maintenance_windows=[{"start":"01:00","end":"05:00"}]'
    expect((await upgrade('plan', ...what, '--set', windows)).out).toMatch(
      /\nnote: Devices begin only in the maintenance windows of the request: daily 01:00-05:00 .*\nstart it by --plan /,
    )
    const gates = 'phase_gates=[{"phase":1,"wait_for":"time","not_before":4000000000}]'
    expect((await upgrade('plan', ...what, '--set', gates)).out).toMatch(/\n2 .* 2096-10-02/)
    const { id } = await found('start', ...what, '--plan', plan.plan_id)
    for (const [action, out] of [
      ['pause', `upgrade ${id} paused\n`],
      ['resume', `upgrade ${id} resumed\n`],
    ] as const)
      expect(await upgrade(action, id)).toEqual({ code: 0, out, err: '' })
    const { out: shown } = await upgrade('show', id)
    expect(shown).toMatch(new RegExp(`^SITE +SITE ID .*\\nBerlin +${org.sites[0]?.id} `))
    const figures = {
      sites: 1,
      targets: 3,
      upgraded: 0,
      failed: 0,
      skipped: 0,
      awaited: 0,
      name: null,
      held_reason: null,
      end_time: null,
      stop_reason: null,
    }
    const row = { id, kind: 'device', created_time: expect.any(Number), version: NEW, strategy: 'canary', ...figures }
    expect(await found('list')).toEqual([{ ...row, status: 'queued' }])
    await upgrade('pause', id)
    const paused = { status: 'paused', held_reason: expect.stringMatching(/^paused by /) }
    expect(await found('list')).toEqual([{ ...row, ...paused }])
    expect((await upgrade('list')).out).toMatch(
      /^ID +CREATED +KIND +VERSION +STATUS +SITES +TARGETS +UPGRADED +FAILED +SKIPPED +REASON\n/,
    )
    await upgrade('cancel', id)
    await advance()
    const watched = await upgrade('watch', id, '--json')
    expect(watched).toMatchObject({
      code: 6,
      err: expect.stringMatching(/^signalbox: 3 of 3 devices were not upgraded: cancelled by \S+\n$/),
    })
    expect(JSON.parse(watched.out)).toMatchObject({ id, total: 3, cancelled: 3 })
    for (const action of ['pause', 'resume', 'cancel'])
      expect(await upgrade(action, id)).toMatchObject({
        code: 0,
        out: `upgrade ${id} has already ended, nothing changed\n`,
      })
    expect(await upgrade('retry', id)).toMatchObject({ code: 0, out: `upgrade ${id} retries 0 devices\n` })
    expect(await upgrade('approve', id, '--phase', '1', '--phase-of', 'downloads')).toMatchObject({
      code: 4,
      err: expect.stringContaining('no phase of the upgrade waits for an approval'),
    })
    const held = JSON.parse((await upgrade('start', NEW, '--site', 'Berlin', '--json')).out)
    const { out: refused } = await upgrade('start', NEW, '--site', 'Berlin')
    expect(refused).toMatch(/^upgrade \S+ began: 0 devices\nleft out: 3, in upgrade \S+\n$/)
    const joining = await found('start', NEW, '--site', 'Berlin', '--set', 'include_new=true')
    await advance()
    for (const outcome of ['no longer awaits 3 devices of other upgrades', 'has already ended, nothing changed'])
      expect((await upgrade('cancel', joining.id)).out).toBe(`upgrade ${joining.id} ${outcome}\n`)
    await upgrade('cancel', held.id)
    await advance()
    const later = await upgrade('start', NEW, '--site', 'Berlin', '--start', '2096-12-01T02:00:00')
    expect(later.out).toMatch(/^upgrade \S+ starts at 2096-1[12]-\d\d \d\d:\d\d:\d\d \S+: 3 devices\n$/)
    const [, laterId = ''] = later.out.split(' ')
    expect((await upgrade('show', laterId)).out).toMatch(/ START .*\n.* queued +2096-1/)
    const excluded = org.sites[0]?.devices[0]?.mac ?? ''
    expect(await upgrade('exclude', laterId, excluded, '--note', 'the rack moves')).toMatchObject({
      code: 0,
      out: `upgrade ${laterId} excludes 1 device\n`,
    })
    expect(await upgrade('exclude', laterId, excluded)).toMatchObject({
      code: 0,
      out: `upgrade ${laterId} excludes 0 devices\nnot excluded: 1, has ended in this upgrade\n`,
    })
    const local = await server.addOrg('Local')
    await addPrivilege(
      server,
      { orgId: admin.orgId, adminId: local.adminId },
      { scope: 'site', role: 'write', site_id: org.sites[0]?.id ?? '' },
    )
    const ofOrg = (...args: string[]): Promise<Result> =>
      signalbox(['upgrade', ...args, '--org', admin.orgId], { SIGNALBOX_TOKEN: local.token })
    const here = (...args: string[]): Promise<Result> => ofOrg(...args, '--site', 'Berlin')
    expect(await ofOrg('pause', laterId)).toMatchObject({ code: 4 })
    expect((await here('list')).out).toContain(laterId)
    expect(await here('pause', laterId)).toMatchObject({ code: 0, out: `upgrade ${laterId} paused\n` })
    expect((await here('show', laterId)).out).toMatch(/^SITE .*\nBerlin +\S+ +queued .* paused by /)
    expect(await here('cancel', laterId)).toMatchObject({ code: 0 })
    await advance()
    expect(await here('watch', laterId)).toMatchObject({
      code: 6,
      err: expect.stringMatching(/3 of 3 devices were not upgraded: cancelled by \S+\n$/),
    })

    expect((await here('plan', NEW, '--strategy', 'serial')).out).toMatch(/^3 devices would be upgraded/)
    const { plan_id: planId } = JSON.parse((await here('plan', NEW, '--json')).out)
    const made = await here('start', NEW, '--plan', planId)
    expect(made.out).toMatch(/^upgrade \S+ began: 3 devices\n$/)
    const [, madeId = ''] = made.out.split(' ')
    expect((await upgrade('show', madeId)).out).toMatch(/\nBerlin /)
    expect(await ofOrg('start', NEW)).toMatchObject({ code: 4, err: expect.stringMatching(/: 403\)\n$/) })
    await here('cancel', madeId)
    await advance()

    const state = { hasEnded: false }
    const second = upgrade('start', NEW, '--watch').finally(() => (state.hasEnded = true))
    while (!state.hasEnded) {
      await advance()
      await fleet.answer(() => 'upgrades')
    }
    expect(await second).toMatchObject({ code: 0, out: '3 of 3 upgraded\n' })
    expect((await second).err).toContain('100 %  3 upgraded')
  })
})

describe('upgrades of other kinds', () => {
  it('of routers are listed, approved, shown, paused, resumed and watched, and lose routers', async () => {
    await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
    const headers = { 'content-type': 'application/octet-stream' }
    await server.call('POST', `/orgs/${server.org.orgId}/firmware?version=6.2.0&models=SSR120&tag=stable`, {
      body: 'image',
      headers,
    })
    const router = await claimNewDevice(server, { siteId, model: 'SSR120' })
    const capabilities = { commands: ['restart', 'stage', 'activate'] as const, restart_members: [], restart_nodes: [] }
    await connectDevice(server.ctx, router.mac, {
      firmware: '6.0.0',
      model: 'SSR120',
      type: 'gateway',
      capabilities,
    })
    const made = await server.call('POST', `/orgs/${server.org.orgId}/ssr/upgrade`, {
      body: {
        ...{ device_ids: [router.id], end_time: Math.floor(Date.now() / 1000) + 86_400 },
        ...{ name: 'Branches', phase_gates: [{ phase: 0, wait_for: 'approval' }] },
      },
    })
    const { id } = made.body
    expect(await signalbox(['upgrade', 'approve', id, '--phase', '0'])).toMatchObject({
      code: 0,
      out: `the start of upgrade ${id} approved\n`,
    })
    expect(await json('upgrade', 'list', '--kind', 'ssr')).toEqual([
      expect.objectContaining({
        id,
        kind: 'ssr',
        version: '6.2.0',
        sites: 1,
        targets: 1,
        skipped: 0,
        status: 'queued',
      }),
    ])
    expect((await signalbox(['upgrade', 'show', id])).out).toMatch(
      /^SITE .* ROUTERS .*\nNorth +\S+ +queued .*\nname: Branches\nends at 2\S+/,
    )
    expect((await signalbox(['upgrade', 'list', '--kind', 'ssr'])).out).toMatch(/SKIPPED +NAME +ENDS\n/)
    expect(await signalbox(['upgrade', 'pause', id])).toMatchObject({ code: 0, out: `upgrade ${id} paused\n` })
    expect(await json('upgrade', 'list', '--kind', 'ssr', '--held')).toEqual([expect.objectContaining({ id })])
    for (const [args, out] of [
      [['resume', id], `upgrade ${id} resumed\n`],
      [['retry', id], `upgrade ${id} retries 0 routers\n`],
      [['exclude', id, router.mac], `upgrade ${id} excludes 1 router\n`],
    ] as const)
      expect(await signalbox(['upgrade', ...args])).toMatchObject({ code: 0, out })
    await advanceRollouts(server.ctx, defaultRolloutOptions, new AbortController().signal)
    expect(await signalbox(['upgrade', 'watch', id])).toMatchObject({
      code: 6,
      err: expect.stringMatching(
        /^\S+ +100 % {2}1 cancelled\nsignalbox: 1 of 1 SSR routers were not upgraded: excluded by \S+\n$/,
      ),
    })
  })

  it('of edge appliances are shown with their steps, paused, resumed, cancelled and watched', async () => {
    await uploadPackage(server, '2.0.0')
    const box = await addBox(server)
    const assigned = { body: { site_id: siteId, mxedge_ids: [box] } }
    expect(await server.call('POST', `/orgs/${server.org.orgId}/mxedges/assign`, assigned)).toMatchObject({
      status: 200,
    })
    const { id } = await upgradeBoxes(server, { mxedge_ids: [box], versions: { tunterm: '2.0.0' } })
    // One of the organization belongs to the only site of its appliances.
    expect(await json('upgrade', 'list', '--kind', 'mxedge', '--site', siteId)).toMatchObject([{ id }])
    expect(await json('upgrade', 'show', id, '--site', siteId)).toMatchObject({ id, targets: [{ mxedge_id: box }] })
    expect(await json('upgrade', 'list', '--kind', 'mxedge')).toEqual([
      expect.objectContaining({ id, kind: 'mxedge', version: 'tunterm 2.0.0', sites: null, targets: 1 }),
    ])
    const all = await json('upgrade', 'list')
    expect(all.length).toBeGreaterThan(1)
    expect(await json('upgrade', 'list', '--limit', '1', '--page', '2')).toEqual(all.slice(1, 2))
    expect((await signalbox(['upgrade', 'list'])).out).toMatch(
      /^ID .* SITES +TARGETS +UPGRADED +FAILED +SKIPPED +NAME +ENDS +REASON\n/,
    )
    expect((await signalbox(['upgrade', 'show', id])).out).toMatch(/^APPLIANCE .*\n.* queued .* tunterm 1.0.0 -> 2.0.0/)
    expect(await json('upgrade', 'show', id)).toMatchObject({ id, targets: [{ mxedge_id: box, status: 'queued' }] })
    for (const [action, done, held] of [
      ['pause', 'paused', [expect.objectContaining({ id })]],
      ['resume', 'resumed', []],
    ] as const) {
      expect(await signalbox(['upgrade', action, id])).toMatchObject({ code: 0, out: `upgrade ${id} ${done}\n` })
      expect(await json('upgrade', 'list', '--kind', 'mxedge', '--held')).toEqual(held)
    }
    await playUpgrades(server, [], server.org.orgId)
    expect(await signalbox(['upgrade', 'watch', id])).toMatchObject({ code: 0, out: '1 of 1 upgraded\n' })
    expect(await signalbox(['upgrade', 'cancel', id])).toMatchObject({
      code: 0,
      out: `upgrade ${id} has already ended, nothing changed\n`,
    })
  })
})

describe('api', () => {
  it('calls any operation by its id', async () => {
    const found = await json('api', 'getOrgInventory', '--query', `mac=${device.mac}`)
    expect(found).toEqual([expect.objectContaining({ mac: device.mac })])
    const path = ['--param', `site_id=${siteId}`, '--param', `device_id=${device.id}`]
    const body = JSON.stringify({ name: 'Lobby' })
    expect(await json('api', 'updateSiteDevice', ...path, '--data', body)).toMatchObject({ name: 'Lobby' })
  })

  it.each([
    [['api', 'inventory'], 'there is no operation inventory; there are '],
    [['api', 'getSiteDevice'], 'needs --param site_id=...'],
    [['api', 'getSelf', '--param', 'x=1'], '/api/v1/self has no parameter x'],
    [['api', 'updateSelf', '--data', '{'], '--data is not JSON'],
  ])('says what is missing in %j', async (args, message) => {
    expect(await signalbox(args)).toMatchObject({ code: 2, err: expect.stringContaining(message) })
  })
})

it.each([
  [['devices', 'list', '--limit', 'many'], "'--limit <number>' argument 'many' is invalid. It must be a whole number."],
  [['devices', 'watch', '--refresh', '0'], "'--refresh <seconds>' argument '0' is invalid. It must be at least 1."],
  [
    ['upgrade', 'plan', '2.0.0', '--phases', '1,x'],
    "'--phases <shares>' argument '1,x' is invalid. It must be a whole",
  ],
  [['upgrade', 'plan', '2.0.0', '--set', 'x'], "'--set <field=value>' argument 'x' is invalid. It must be name=value."],
  [['api', 'getSelf', '--query', '=1'], "'--query <name=value>' argument '=1' is invalid. It must be name=value."],
])('names the wrong option of %j', async (args, message) => {
  expect(await signalbox(args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) })
})

it('shows the automatic upgrades of a site', async () => {
  const off = await signalbox(['upgrade', 'auto', 'North'])
  expect(off).toEqual({ code: 0, out: 'enabled  false\n', err: '' })
  const body = { auto_upgrade: { enabled: true, time_of_day: '03:00' } }
  await server.call('PUT', `/sites/${siteId}/setting`, { body })
  expect(await json('upgrade', 'auto', siteId)).toEqual({ enabled: true, next_time: expect.any(Number) })
  expect((await signalbox(['upgrade', 'auto', 'North'])).out).toMatch(
    /^enabled    true\nnext_time  \d{4}-\d{2}-\d{2} \d{2}:\d{2}:00 \S+\n$/,
  )
})
