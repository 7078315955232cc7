import { randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { endPool } from '../../../src/platform/database/connections/end-pool.ts'
import { openPool } from '../../../src/platform/database/connections/pools.ts'
import { addSite, claimNewDevices, makeDevices } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let pool: pg.Pool
beforeAll(async () => {
  server = await startTestServer()
  pool = openPool({ ...server.database.connection, max: 4 }, () => {})
})
afterAll(async () => {
  await endPool(pool)
  await server.close()
})

/** Asserts that the counters of an organization match its device rows. */
async function expectCorrectCounts(orgId: string): Promise<void> {
  const read = async (query: string) => (await pool.query(query, [orgId])).rows
  const order = 'order by site_id, type, model'
  const counted = await read(
    `select site_id, type, model, count from device_count where org_id = $1 and count <> 0 ${order}`,
  )
  const there = await read(
    `select site_id, type, model, count(*) as count from device where org_id = $1 group by 1, 2, 3 ${order}`,
  )
  expect(counted).toEqual(there)
}

const models = [
  ['ap', 'AP45'],
  ['ap', 'AP34'],
  ['switch', 'EX4100-48P'],
] as const

interface World {
  readonly orgId: string
  readonly siteIds: string[]
  readonly deviceIds: string[]
}

async function makeWorld(): Promise<World> {
  const orgId = randomUUID()
  const siteIds = [randomUUID(), randomUUID(), randomUUID()]
  const deviceIds: string[] = []
  await pool.query(`insert into org (id, name, created_at, modified_at) values ($1, 'Counted', now(), now())`, [orgId])
  await pool.query(
    `insert into site (org_id, id, name, timezone, created_at, modified_at)
     select $1, id, 'Counted', 'UTC', now(), now() from unnest($2::uuid[]) as new (id)`,
    [orgId, siteIds],
  )
  for (let n = 0; n < 8; n += 1) {
    const mac = randomBytes(6).toString('hex')
    await pool.query(
      `insert into device_registry (id, mac, serial, model, type, claim_code, created_at)
       values ($1, $2, $2, 'AP45', 'ap', $2, now())`,
      [deviceIdOf(mac), mac],
    )
    deviceIds.push(deviceIdOf(mac))
  }
  return { orgId, siteIds, deviceIds }
}

/** The devices of a statement, a site (the fourth is none) and a model. */
const step = fc.record({
  what: fc.constantFrom('add', 'remove', 'move', 'become', 'rename', 'close', 'undo'),
  devices: fc.uniqueArray(fc.nat(7), { maxLength: 8 }),
  site: fc.nat(3),
  model: fc.nat(models.length - 1),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const statements: Record<Exclude<Step['what'], 'undo'>, string> = {
  add: `insert into device (org_id, id, site_id, mac, serial, model, type, claim_code, created_at, modified_at)
    select $1, id, (select id from site where org_id = $1 and id = $3), mac, serial, $5, $4, claim_code, now(), now()
    from device_registry where id = any($2) on conflict do nothing`,
  remove: `delete from device where org_id = $1 and id = any($2)`,
  move: `update device set site_id = (select id from site where org_id = $1 and id = $3)
    where org_id = $1 and id = any($2)`,
  become: `update device set model = $5, type = $4 where org_id = $1 and id = any($2)`,
  rename: `update device set name = 'Other' where org_id = $1 and id = any($2)`,
  close: `delete from site where org_id = $1 and id = $3
    and not exists (select from device where device.org_id = site.org_id and device.site_id = site.id)`,
}

async function take({ what, devices, site, model }: Step, { orgId, siteIds, deviceIds }: World): Promise<void> {
  const [type, name] = models[model] ?? models[0]
  const values = [orgId, devices.map((n) => deviceIds[n]), siteIds[site] ?? null, type, name]
  // Every statement uses all parameters, because PostgreSQL needs to know the type of each.
  const all = `with given as (select $1::uuid, $2::uuid[], $3::uuid, $4::text, $5::text)`
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query(`${all} ${what === 'undo' ? statements.remove : statements[what]}`, values)
    await client.query(what === 'undo' ? 'rollback' : 'commit')
  } finally {
    client.release()
  }
}

it('the counters of devices are correct after any sequence of changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
      const world = await makeWorld()
      for (const one of steps) {
        await take(one, world)
        await expectCorrectCounts(world.orgId)
      }
      await pool.query('delete from device where org_id = $1', [world.orgId])
      await pool.query('delete from org where id = $1', [world.orgId])
      const left = await pool.query('select from device_count where org_id = $1', [world.orgId])
      expect(left.rowCount).toBe(0)
    }),
    { numRuns: 60 },
  )
})

it('concurrent claims, assignments and deletions neither deadlock nor cause wrong counts', async () => {
  const sites = [await addSite(server, 'One'), await addSite(server, 'Other')]
  const inventory = `/orgs/${server.org.orgId}/inventory`
  const groups = [
    await claimNewDevices(server, 40, { siteId: sites[0] ?? '' }),
    await claimNewDevices(server, 40, { siteId: sites[1] ?? '', model: 'AP34' }),
    await claimNewDevices(server, 40, { model: 'EX4100-48P' }),
  ]
  const mixed = groups.flat().map(({ mac }) => mac)
  const waiting = await Promise.all([makeDevices(server.ctx, 500), makeDevices(server.ctx, 500)])
  const change = (body: object) => server.call('PUT', inventory, { body })
  const answers = await Promise.all([
    ...waiting.map((devices) =>
      server.call('POST', inventory, { body: devices.map(({ claim_code }) => claim_code).reverse() }),
    ),
    ...sites.flatMap((site_id, turn) => [
      change({ op: 'assign', site_id, macs: turn === 0 ? mixed : mixed.toReversed() }),
      change({ op: 'unassign', macs: mixed.filter((_mac, n) => n % 3 === turn) }),
      change({ op: 'delete', macs: mixed.filter((_mac, n) => n % 7 === turn) }),
    ]),
  ])
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  await expectCorrectCounts(server.org.orgId)
  const { body } = await server.call('GET', `${inventory}/count?type=all`)
  expect(body.results[0]).toMatchObject({ model: 'AP45' })
  expect((await server.call('GET', `${inventory}?limit=1`)).headers.get('x-page-total')).toBe(
    String(body.results.reduce((sum: number, { count }: { count: number }) => sum + count, 0)),
  )
})
