import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import type pg from 'pg'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemScope } from '../../../src/access/scope.ts'
import { type Db, anyOf, openDb } from '../../../src/platform/database/db.ts'
import { endPool } from '../../../src/platform/database/connections/end-pool.ts'
import { openPool } from '../../../src/platform/database/connections/pools.ts'
import { copyRows } from '../../../src/platform/database/copy-rows.ts'
import { columnsOf, insertRows, rowsAs, rowsUpdate, updateRows } from '../../../src/platform/database/rows.ts'
import { documentText } from '../../../src/platform/sealing/document-column.ts'
import { createSecrets } from '../../../src/platform/secrets.ts'
import { type TestDatabase, createTestDatabase } from '../../support/database/database.ts'

let database: TestDatabase
let pool: pg.Pool
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool({ ...database.connection, max: 1 }, () => {})
  db = openDb(pool, createSecrets(randomBytes(32)))
})
afterAll(async () => {
  await endPool(pool)
  await database.drop()
})

const { orgId } = systemScope('operator', '018f0000-0000-7000-8000-000000000000')

const columns = columnsOf(
  'deviceCommand',
  {
    id: 'uuid',
    kind: 'text',
    epoch: 'bigint',
    attempt: 'integer',
    sentMs: 'float8',
    sentAt: 'timestamptz',
    outcome: 'jsonb',
  },
  { wanted: 'boolean', bytes: 'bytea', note: 'text' },
)

const document = fc.dictionary(
  fc.stringMatching(/^[a-z_]{1,5}$/),
  fc.oneof(fc.string({ unit: text() }), fc.integer(), fc.constant(null), fc.array(fc.boolean())),
)

/** Generates texts that PostgreSQL can store: without zero bytes and halves of surrogate pairs. */
function text(): fc.Arbitrary<string> {
  return fc
    .oneof(
      fc.constantFrom('"', '\\', '{', '}', ',', "'", 'NULL', ' ', '\n'),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    )
    .filter((part) => !part.includes('\0'))
}

const row = fc.record({
  id: fc.uuid(),
  kind: fc.constantFrom('restart' as const, 'upgrade' as const),
  epoch: fc.option(fc.bigInt({ min: 0n, max: 2n ** 62n }).map(String)),
  attempt: fc.integer({ min: 0, max: 1000 }),
  sentMs: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)),
  sentAt: fc.option(fc.date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })),
  outcome: fc.option(document),
  wanted: fc.option(fc.boolean()),
  bytes: fc.option(fc.uint8Array().map((bytes) => Buffer.from(bytes))),
  note: fc.option(fc.string({ unit: text() })),
})

describe('rowsAs', () => {
  it('produces exactly the given rows, in their order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 8 }), async (rows) => {
        const found = await sql`select given.* from ${rowsAs('given', columns, rows, 'place')} order by place`.execute(
          db,
        )
        expect(found.rows).toEqual(rows.map((given, index) => ({ ...given, place: String(index + 1) })))
      }),
      { numRuns: 100 },
    )
  })

  it('has as many parameters for a thousand rows as for one', () => {
    const parametersOf = (count: number) => {
      const keys = Array.from({ length: count }, () => ({ id: orgId, orgId }))
      const query = sql`select from ${rowsAs('key', columnsOf('device', { id: 'uuid', orgId: 'uuid' }), keys)}`
      return query.compile(db).parameters.length
    }
    expect([parametersOf(1), parametersOf(1000)]).toEqual([2, 2])
  })
})

describe('columnsOf', () => {
  it('accepts only columns of the table, with a type that matches their values', () => {
    // @ts-expect-error a column that the table does not have
    columnsOf('device', { id: 'uuid', color: 'text' })
    // @ts-expect-error a number is not text
    columnsOf('webhookMessage', { attempt: 'text' })
    // @ts-expect-error a document is written as jsonb
    columnsOf('device', { doc: 'text' })
    // @ts-expect-error the row lacks a declared column
    rowsAs('key', columnsOf('device', { id: 'uuid', mac: 'text' }), [{ id: orgId }])
    expect(columnsOf('device', { id: 'uuid' }).types).toEqual({ id: 'uuid' })
  })
})

describe('insertRows and updateRows', () => {
  const newSites = columnsOf('site', {
    orgId: 'uuid',
    id: 'uuid',
    name: 'text',
    timezone: 'text',
    doc: 'document',
    createdAt: 'timestamptz',
    modifiedAt: 'timestamptz',
  })
  const changes = columnsOf('site', { id: 'uuid', name: 'text' }, { mark: 'text' })

  it('write every row, and leave the others unchanged', async () => {
    const at = new Date('2026-01-01T00:00:00Z')
    await db
      .insertInto('org')
      .values({ id: orgId, name: 'Org', doc: documentText({}), createdAt: at, modifiedAt: at })
      .execute()
    const ids = ['1', '2', '3'].map((last) => orgId.slice(0, -1) + last)
    const sites = ids.map((id, index) => ({ id, name: `Site ${index}`, doc: { index } }))
    const inserted = await db.transaction().execute((tx) =>
      insertRows(tx, newSites, sites, {
        every: { orgId, timezone: 'UTC', createdAt: at, modifiedAt: at },
        tail: sql<{ id: string }>`order by id desc returning id`,
      }),
    )
    expect(inserted.map(({ id }) => id)).toEqual(ids.toReversed())
    const renamed = sites.slice(0, 2).map(({ id, name }) => ({ id, name: `${name} "new"`, mark: name }))
    await db.transaction().execute((tx) =>
      updateRows(tx, changes, renamed, {
        key: ['id'],
        set: sql`doc = site.doc || jsonb_build_object('was', new.mark)`,
        where: sql`site.name <> ${'Site 1'}`,
      }),
    )
    const found = await db.selectFrom('site').select(['name', 'doc', 'timezone']).orderBy('id').execute()
    expect(found).toEqual([
      { name: 'Site 0 "new"', doc: { index: 0, was: 'Site 0' }, timezone: 'UTC' },
      { name: 'Site 1', doc: { index: 1 }, timezone: 'UTC' },
      { name: 'Site 2', doc: { index: 2 }, timezone: 'UTC' },
    ])
  })

  it('keep their texts, and take the values of each call', async () => {
    const at = new Date('2026-02-01T00:00:00Z')
    const org = '018f0000-0000-7000-8000-0000000000a0'
    await db
      .insertInto('org')
      .values({ id: org, name: 'Org', doc: documentText({}), createdAt: at, modifiedAt: at })
      .execute()
    const rowOf = (last: number) => ({ id: org.slice(0, -1) + last, name: `Site ${last}`, doc: { last } })
    const every = { orgId: org, createdAt: at, modifiedAt: at }
    const named = sql<{ name: string }>`returning name`
    const returned = await db.transaction().execute(async (tx) => [
      await insertRows(tx, newSites, [rowOf(1)], { every: { ...every, timezone: 'UTC' } }),
      await insertRows(tx, newSites, [rowOf(2), rowOf(3)], {
        every: { ...every, timezone: 'Asia/Tokyo' },
        tail: named,
      }),
      await insertRows(tx, newSites, [{ ...rowOf(4), timezone: 'Asia/Seoul' }], { every, tail: named }),
    ])
    expect(returned).toEqual([[], [{ name: 'Site 2' }, { name: 'Site 3' }], [{ name: 'Site 4' }]])
    const names = columnsOf('site', { id: 'uuid', name: 'text' })
    await db.transaction().execute(async (tx) => {
      await updateRows(tx, names, [{ ...rowOf(1), name: 'First' }], { key: ['id'] })
      await updateRows(tx, names, [{ ...rowOf(4), name: 'Last' }], { key: ['id'] })
      await updateRows(tx, names, [{ id: rowOf(5).id, name: 'Site 3' }], { key: ['name'] })
    })
    const move = rowsUpdate<{ id: string; name: string }, { zone: string; from: string }>(names, (param) => ({
      key: ['id'],
      set: sql`timezone = ${param('zone')}`,
      where: sql`site.timezone = ${param('from')}`,
    }))
    await db.transaction().execute(async (tx) => {
      await move(tx, [], { zone: 'Asia/Macau', from: 'UTC' })
      await move(tx, [{ ...rowOf(1), name: 'Moved' }, rowOf(2)], { zone: 'Asia/Dubai', from: 'UTC' })
      await move(tx, [rowOf(1)], { zone: 'Asia/Macau', from: 'UTC' })
      await move(tx, [{ ...rowOf(1), name: 'First' }], { zone: 'UTC', from: 'Asia/Dubai' })
    })
    const found = await db
      .selectFrom('site')
      .select(['id', 'name', 'timezone'])
      .where('orgId', '=', org)
      .orderBy('timezone')
      .orderBy('name')
      .execute()
    expect(found.map(({ id, name, timezone }) => [id.slice(-1), name, timezone])).toEqual([
      ['4', 'Last', 'Asia/Seoul'],
      ['2', 'Site 2', 'Asia/Tokyo'],
      ['5', 'Site 3', 'Asia/Tokyo'],
      ['1', 'First', 'UTC'],
    ])
  })
})

describe('copyRows', () => {
  const events = columnsOf('deviceEventRow', {
    id: 'uuid',
    deviceId: 'uuid',
    org: 'integer',
    place: 'integer',
    kind: 'smallint',
    deviceName: 'text',
    event: 'jsonb',
    createdAt: 'timestamptz',
  })
  const at = new Date('2026-03-01T00:00:00Z')
  const same = { org: 1, place: 1, createdAt: at }
  const rowOf = (text: string) => ({ id: uuidv7(), deviceId: uuidv7(), kind: 11, deviceName: text })
  const listed = (ids: readonly string[]) =>
    db
      .selectFrom('deviceEventRow')
      .select(['id', 'deviceName', 'event', 'kind', 'createdAt'])
      .where('id', '=', anyOf(ids))
      .orderBy('id')
      .execute()

  it('writes what insertRows writes, few rows or many', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ name: fc.option(fc.string({ unit: text() })), event: document }), { maxLength: 40 }),
        async (given) => {
          const rows = given.map(({ name, event }) => ({ ...rowOf(''), deviceName: name, event }))
          await db.transaction().execute((tx) => copyRows(tx, events, rows, { every: same }))
          const found = await listed(rows.map(({ id }) => id))
          expect(found).toEqual(
            rows.map(({ id, deviceName, event, kind }) => ({ id, deviceName, event, kind, createdAt: at })),
          )
        },
      ),
      { numRuns: 40 },
    )
  })

  it('writes nothing if a row is refused, and the connection goes on', async () => {
    const rows = Array.from({ length: 100 }, (_, index) => ({ ...rowOf(`${index}`), event: {} }))
    const twice = [...rows, ...rows.slice(0, 1)]
    const copied = db.transaction().execute((tx) => copyRows(tx, events, twice, { every: same }))
    await expect(copied).rejects.toThrow('device_event_by_hour')
    expect(await listed(rows.map(({ id }) => id))).toEqual([])
    // The copy is the first statement of its transaction here, and follows others there.
    await db.transaction().execute(async (tx) => {
      await sql`select 1`.execute(tx)
      await copyRows(tx, events, rows, { every: same })
      await sql`select 1`.execute(tx)
    })
    expect(await listed(rows.map(({ id }) => id))).toHaveLength(100)
  })

  it('leaves the refusal of a value that it can not encode to PostgreSQL', async () => {
    const rows = Array.from({ length: 100 }, () => ({ ...rowOf(''), event: {} }))
    const wrong = rows.map((each, index) => (index === 50 ? { ...each, deviceId: 'no id' } : each))
    const copied = db.transaction().execute((tx) => copyRows(tx, events, wrong, { every: same }))
    await expect(copied).rejects.toThrow('invalid input syntax for type uuid: "no id"')
    expect(await listed(rows.map(({ id }) => id))).toEqual([])
  })

  it('refuses documents, which the connection seals', async () => {
    const documents = columnsOf('site', { orgId: 'uuid', id: 'uuid', doc: 'document' })
    const rows = Array.from({ length: 100 }, () => ({ orgId, id: uuidv7(), doc: {} }))
    const copied = db.transaction().execute((tx) => copyRows(tx, documents, rows))
    await expect(copied).rejects.toThrow('sealed')
  })
})
