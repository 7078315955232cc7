import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { uuidv7 } from 'uuidv7'
import { createSecrets } from '../../src/platform/secrets.ts'
import { checkMasterKey } from '../../src/platform/sealing/check-master-key.ts'
import { sealTables } from '../../src/platform/sealing/seal-tables.ts'
import { type TestContext, createTestContext } from '../support/servers/server.ts'

let test: TestContext
beforeEach(async () => {
  test = await createTestContext()
})
afterEach(() => test.close())

describe('sealing the documents of earlier releases', () => {
  const orgId = uuidv7()
  const documentOf = (number: number): object => ({
    notes: `Site ${number}`,
    ...(number % 3 > 0 && { vendor: [{ psk: `hidden ${number}`, password: `sealed:hidden ${number}`, vlan: number }] }),
  })
  const COUNT = 250

  /** Writes as releases did that sealed nothing. */
  async function insertDocuments(): Promise<void> {
    const documents = Array.from({ length: COUNT }, (_, number) => JSON.stringify(documentOf(number)))
    await sql`insert into org (id, name, doc, created_at, modified_at)
      values (${orgId}, 'Org', '{"secret": "hidden too"}', now(), now())`.execute(test.ctx.db)
    await sql`insert into site (org_id, id, name, timezone, doc, created_at, modified_at)
      select ${orgId}::uuid, gen_random_uuid(), 'Site ' || place - 1, 'UTC', doc::jsonb, now(), now()
      from unnest(${documents}::text[]) with ordinality as given (doc, place)`.execute(test.ctx.db)
  }

  async function listStored(): Promise<string[]> {
    const { rows } = await sql<{ text: string }>`select doc::text as text from site order by id`.execute(test.ctx.db)
    return rows.map(({ text }) => text)
  }

  it('goes on where it was interrupted, and changes no document for its readers', async () => {
    await insertDocuments()
    await sql`create function fail() returns trigger language plpgsql as $$ begin
      if (select count(*) from site where doc::text like '%sealed:%vlan%' and doc::text not like '%hidden%') > 80
      then raise exception 'power failure'; end if; return new; end $$`.execute(test.ctx.db)
    await sql`create trigger fail before update on site for each row execute function fail()`.execute(test.ctx.db)
    await expect(sealTables(test.ctx)).rejects.toThrow('power failure')
    const interrupted = await listStored()
    const plain = interrupted.filter((text) => text.includes('hidden')).length
    expect(plain).toBeGreaterThan(0)
    expect(plain).toBeLessThan(COUNT * (2 / 3) - 1)
    await sql`drop trigger fail on site`.execute(test.ctx.db)
    await sealTables(test.ctx)
    const stored = await listStored()
    expect(stored.join()).not.toContain('hidden')
    // A portion that had been written is not sealed again.
    expect(stored.filter((text, at) => text === interrupted[at]).length).toBeGreaterThan(COUNT / 3)
    const read = await test.ctx.db.selectFrom('site').select(['name', 'doc']).execute()
    for (const { name, doc } of read) expect(doc).toEqual(documentOf(Number(name.slice('Site '.length))))
    const org = await test.ctx.db.selectFrom('org').select('doc').executeTakeFirstOrThrow()
    expect(org.doc).toEqual({ secret: 'hidden too' })
    await sealTables(test.ctx)
    expect(await listStored()).toEqual(stored)
  })

  it('keeps no part of a secret in the statistics of PostgreSQL', async () => {
    await insertDocuments()
    await sql`analyze site`.execute(test.ctx.db)
    const statistics = sql<{
      text: string
    }>`select coalesce(string_agg(concat(most_common_vals, histogram_bounds), ''), '') as text
      from pg_stats where tablename = 'site' and attname = 'doc'`
    expect((await statistics.execute(test.ctx.db)).rows[0]?.text).toContain('hidden')
    await sealTables(test.ctx)
    expect((await statistics.execute(test.ctx.db)).rows[0]?.text).not.toContain('hidden')
  })
})

describe('the master key', () => {
  it('is the one with which the database was first opened', async () => {
    await checkMasterKey(test.ctx, '/data/secret.key')
    await checkMasterKey(test.ctx, '/data/secret.key')
    const other = { ...test.ctx, secrets: createSecrets(randomBytes(32)) }
    await expect(checkMasterKey(other, '/data/secret.key')).rejects.toThrow(
      '/data/secret.key is not the key with which the secrets in the database are encrypted: restore it from the backup of the data folder',
    )
  })
})
