import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { getPriority } from 'node:os'
import { sql } from 'kysely'
import { expect, it, vi } from 'vitest'
import type { ApartEnd } from '../../../../src/http/apart/messages.ts'
import { AppError } from '../../../../src/platform/errors.ts'
import { loweredNiceness } from '../../../../src/platform/process/lowered-niceness.ts'
import type { Answer } from '../../../support/servers/server.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { LARGE, type World, countWaiting, settingOf, startWorld } from './apart-world.ts'

/** The process yields the processors to everything else, and the first test builds its program. */
vi.setConfig({ testTimeout: 120_000 })

const shownBy = ({ status, body }: Answer): unknown => ({ status, body })

it('runs changes with large bodies in the process while others are present, and all else in the main thread', async () => {
  const world = await startWorld()
  const put = (body: unknown) => world.call('PUT', settingOf(world), { body })
  expect((await put({ note: LARGE })).status).toBe(200)
  await world.accompany()
  expect((await put({ note: 'small' })).status).toBe(200)
  expect((await world.call('GET', settingOf(world))).body).toMatchObject({ note: 'small' })
  expect(world.ran).toEqual([])
  const changed = await put({ note: LARGE, psk: 'secret', exact: 1 })
  expect(world.ran).toEqual(['updateOrgSettings'])
  expect(changed.status).toBe(200)
  expect(changed.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(changed.body).toEqual((await world.call('GET', settingOf(world))).body)
  expect(changed.body).toMatchObject({ note: LARGE, psk: 'secret', exact: 1 })
})

it('records the changes of the process, and wakes the workers of the main thread', async () => {
  const world = await startWorld()
  const { org, ctx } = world
  const hook = { url: 'http://127.0.0.1:9/', topics: ['audits'] }
  expect((await world.call('POST', `/orgs/${org.orgId}/webhooks`, { body: hook })).status).toBe(200)
  const woken: string[] = []
  ctx.wakes.on('outbox', (ids) => void woken.push(...ids))
  await world.accompany()
  await world.call('PUT', settingOf(world), { body: { note: LARGE } })
  expect(world.ran).toEqual(['updateOrgSettings'])
  await waitUntil('the wake of the process', () => woken.length > 0)
  const { body } = await world.call('GET', `/orgs/${org.orgId}/logs`)
  expect(body.results[0]).toMatchObject({
    message: 'Update Org Settings',
    admin_name: expect.stringContaining(org.email),
  })
})

it('refuses in the process what the main thread refuses, with the same words', async () => {
  const world = await startWorld()
  const bodies = [
    `{"note": "${LARGE}"`,
    `{"note": "${LARGE}", "at": 1e999}`,
    `{"note": "${LARGE}\\u0000"}`,
    JSON.stringify({ note: LARGE, ui_idle_timeout: 'often' }),
    JSON.stringify({ note: LARGE, ui_idle_timeout: 12345678901234567890n.toString() }),
    JSON.stringify({ note: Array.from({ length: 20_000 }, (_, index) => ({ psk: `s${index}` })) }),
    JSON.stringify({ note: Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key${index}`, 1])) }),
    Buffer.concat([Buffer.from(`{"note": "${LARGE}`), Buffer.from([0xff]), Buffer.from('"}')]),
  ]
  const refusals: unknown[] = []
  for (const body of bodies) refusals.push(shownBy(await world.call('PUT', settingOf(world), { body })))
  expect(world.ran).toEqual([])
  await world.accompany()
  for (const [index, body] of bodies.entries())
    expect(shownBy(await world.call('PUT', settingOf(world), { body }))).toEqual(refusals[index])
  expect(world.ran).toHaveLength(bodies.length)
  expect(new Set(refusals.map((refusal) => Reflect.get(Object(refusal), 'status')))).toEqual(new Set([400]))
})

it('reads the same in both processes', async () => {
  const world = await startWorld()
  const { org, apart } = world
  const call: World['call'] = (...args) => world.call(...args)
  const { body: site } = await call('POST', `/orgs/${org.orgId}/sites`, {
    body: { name: 'Site', note: LARGE.slice(0, 999) },
  })
  const { body: map } = await call('POST', `/sites/${site.id}/maps`, { body: { name: 'Map', type: 'image' } })
  await call('PUT', `/sites/${site.id}/setting`, { body: { note: 'of the site' } })
  await world.accompany()
  await call('PUT', settingOf(world), { body: { note: LARGE } })
  const params: Readonly<Record<string, string>> = { org_id: org.orgId, site_id: site.id, map_id: map.id }
  const reads = world.operations.filter(
    ({ id, method, at }) =>
      method === 'GET' &&
      apart.operations.has(id) &&
      [...at.path.matchAll(/:(\w+)/g)].every(([, name = '']) => name in params),
  )
  expect(reads.length).toBeGreaterThan(30)
  for (const { id, at } of reads) {
    const path = at.path.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? '')
    const here = await call('GET', path)
    const sent = {
      operation: id,
      kind: id,
      caller: world.lastCaller(),
      params,
      query: {},
      url: `/api/v1${path}`,
      body: null,
    }
    const there = partsOf(await apart.run({ ...sent, isHeavy: true }))
    expect([id, here.status, withoutRange(there.body)]).toEqual([id, there.status, withoutRange(here.body)])
    for (const [name, value] of Object.entries(there.headers))
      expect([id, here.headers.get(name)]).toEqual([id, String(value)])
  }
})

function partsOf(end: ApartEnd): { status: number; body: unknown; headers: Readonly<Record<string, string | number>> } {
  if ('defect' in end) throw end.defect
  if ('refusal' in end) {
    const { code, detail, fields } = end.refusal
    return { status: code === 'not_found' ? 404 : 400, body: { detail, ...fields }, headers: {} }
  }
  return { status: 200, body: JSON.parse(Buffer.from(end.answer.text).toString()), headers: end.answer.headers }
}

/** Searches answer with the range of time that ends now. */
function withoutRange(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('end' in body)) return body
  return { ...body, start: 0, end: 0, next: '' }
}

it('answers equal reads that are read and encoded together', async () => {
  const world = await startWorld()
  const { org, apart } = world
  const body = { name: 'Site', notes: LARGE.slice(0, 60_000) }
  for (const name of ['A', 'B', 'C'])
    expect((await world.call('POST', `/orgs/${org.orgId}/sites`, { body: { ...body, name } })).status).toBe(200)
  await world.accompany()
  await world.call('PUT', settingOf(world), { body: { note: LARGE } })
  const params = { org_id: org.orgId }
  const operation = 'listOrgSites'
  const sent = { operation, kind: operation, caller: world.lastCaller(), params, query: {}, url: '/', body: null }
  const ends = await Promise.all([1, 2].map(async () => partsOf(await apart.run({ ...sent, isHeavy: false }))))
  expect(ends.map((end) => end.body)).toEqual([
    (await world.call('GET', `/orgs/${org.orgId}/sites`)).body,
    (await world.call('GET', `/orgs/${org.orgId}/sites`)).body,
  ])
})

it('lets no caller change in the process what belongs to another organization', async () => {
  const world = await startWorld()
  await world.accompany()
  const options = { body: { note: LARGE }, as: world.neighbor }
  await world.call('GET', '/self')
  expect((await world.call('PUT', settingOf(world), options)).status).toBe(404)
  expect(world.ran).toEqual(['updateOrgSettings'])
})

it('answers 503 if the database fails in the process', async () => {
  const world = await startWorld()
  await sql`create function fail() returns trigger language plpgsql as
    $$ begin raise exception 'it fails' using errcode = '53100'; end $$`.execute(world.ctx.db)
  await sql`create trigger fail before insert or update on org_setting execute function fail()`.execute(world.ctx.db)
  await world.accompany()
  const answer = await world.call('PUT', settingOf(world), { body: { note: LARGE } })
  expect(world.ran).toEqual(['updateOrgSettings'])
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '10'])
  expect(answer.body).toEqual({ detail: 'The database has no disk space left. Please try again later.' })
})

it('reads in the main thread whatever length of a body the request declares', async () => {
  const world = await startWorld()
  await world.accompany()
  const asked = request(`${world.url}/api/v1/orgs/${world.org.orgId}/sites`, {
    headers: {
      authorization: `Token ${world.org.token}`,
      'content-type': 'application/json',
      'content-length': LARGE.length,
    },
  })
  asked.end(LARGE)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  expect([answer.statusCode, world.ran]).toEqual([200, []])
})

it('begins no request whose client has left, and none after its stop', async () => {
  const world = await startWorld()
  await world.accompany()
  await world.call('PUT', settingOf(world), { body: { note: LARGE } })
  const params = { org_id: world.org.orgId }
  const operation = 'getOrgSettings'
  const sent = { operation, kind: operation, caller: world.lastCaller(), params, query: {}, url: '/', body: null }
  const read = (assertWanted?: () => void) => world.apart.run({ ...sent, isHeavy: false }, assertWanted)
  const first = Array.from({ length: 2 }, () => read())
  const unwanted = read(() => {
    throw new AppError('rate_limited', 'left')
  })
  const last = Array.from({ length: 4 }, () => read())
  const left = { refusal: { code: 'rate_limited', detail: 'left' }, cpuMs: 0 }
  await world.apart.stop()
  expect(await unwanted).toMatchObject(left)
  for (const end of await Promise.all(first)) expect(partsOf(end).status).toBe(200)
  const unfinished = { refusal: { code: 'unavailable', detail: expect.stringContaining('could not finish') }, cpuMs: 0 }
  for (const end of await Promise.all([...last, read()])) expect(end).toMatchObject(unfinished)
})

it('answers 503 if the process ends before it has answered', async () => {
  const world = await startWorld({ dataDir: '/dev/null' })
  await world.accompany()
  const answer = await world.call('PUT', settingOf(world), { body: { note: LARGE } })
  expect([answer.status, world.ran]).toEqual([503, ['updateOrgSettings']])
  expect((await world.call('GET', settingOf(world))).body).not.toHaveProperty('note')
})

/** The processes of expensive requests that this one has started. */
function processIds(): number[] {
  const ids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return ids.filter((id) => {
    try {
      const isOwn = readFileSync(`/proc/${id}/status`, 'utf8').includes(`\nPPid:\t${process.pid}\n`)
      return isOwn && readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('apart-process.mjs')
    } catch {
      return false // It has ended.
    }
  })
}

const threadsOf = (id: number): number[] => readdirSync(`/proc/${id}/task`).map(Number)

it.skipIf(process.platform !== 'linux')(
  'charges a request that ends the process, so that an account which sends several becomes heavy',
  async () => {
    const world = await startWorld()
    const { ran, neighbor } = world
    const statusOf = async (method: string, as = world.org, body?: object): Promise<number> =>
      (await world.call(method, `/orgs/${as.orgId}/setting`, { as, body })).status
    expect(await statusOf('PUT', world.org, { note: 'first' })).toBe(200)
    expect(await statusOf('GET', neighbor)).toBe(200)
    expect(await statusOf('GET')).toBe(200)
    expect(ran).toEqual([])
    await sql`create function wait() returns trigger language plpgsql as
      $$ begin perform pg_sleep(60); return new; end $$`.execute(world.ctx.db)
    await sql`create trigger wait before update on org_setting for each row execute function wait()`.execute(
      world.ctx.db,
    )
    const lost = statusOf('PUT', world.org, { note: LARGE })
    await waitUntil('its work', async () => (await countWaiting(world, 'Timeout')) === 1)
    const [id = 0] = processIds()
    process.kill(id, 'SIGKILL')
    expect(await lost).toBe(503)
    // Reads of an account run there only if it is heavy.
    expect(await statusOf('GET')).toBe(200)
    expect(await statusOf('GET', neighbor)).toBe(200)
    expect(ran).toEqual(['updateOrgSettings', 'getOrgSettings'])
  },
)

it.skipIf(process.platform !== 'linux')(
  'starts the process at a low priority, ends it, and starts another one',
  async () => {
    const world = await startWorld({ idleMs: 1 })
    await world.accompany()
    for (const round of [1, 2]) {
      expect(processIds()).toEqual([])
      const answer = world.call('PUT', settingOf(world), { body: { note: LARGE, round } })
      const [id = 0] = await waitUntil('the process', () => (processIds().length === 0 ? null : processIds()))
      const low = loweredNiceness(getPriority())
      await waitUntil('its priority', () => threadsOf(id).every((thread) => getPriority(thread) === low))
      expect((await answer).status).toBe(200)
      await waitUntil('the end of the process', () => processIds().length === 0)
    }
  },
)
