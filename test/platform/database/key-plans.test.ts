import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestContext, createTestContext } from '../../support/servers/server.ts'

let test: TestContext
beforeAll(async () => {
  test = await createTestContext()
})
afterAll(() => test.close())

// Between two indexes with equal estimated costs, PostgreSQL chooses the newer one. In a table that has not been
// analyzed yet, a key that begins with org_id and any other such index have equal estimates: each insert that refers to
// such a table would then read all its rows of the organization.
it('finds a row by a key without reading its neighbors, in a table that has never been analyzed', async () => {
  const found = await test.ctx.db.transaction().execute(async (db) => {
    await sql`set local plan_cache_mode = force_generic_plan`.execute(db)
    // PostgreSQL reads small tables as a whole, and may have analyzed some of them in the meantime.
    await sql`set local enable_seqscan = off`.execute(db)
    const { rows: keys } = await sql<{ table: string; columns: string[]; types: string[] }>`
      select table_oid::regclass::text as table, array_agg(attname::text order by place) as columns,
        array_agg(format_type(atttypid, null) order by place) as types
      from (
        select conrelid as table_oid, conkey as key from pg_constraint
        where contype = 'p' and connamespace = 'public'::regnamespace
        union select confrelid, confkey from pg_constraint where contype = 'f'
      ) keys, unnest(key) with ordinality column_of_key (number, place)
      join pg_attribute on attnum = number
      join pg_class on pg_class.oid = attrelid and relkind = 'r'
      where attrelid = table_oid
      group by table_oid, key`.execute(db)
    const { rows: indexes } = await sql<{ name: string; columns: string[] }>`
      select indexrelid::regclass::text as name, array_agg(attname::text order by attnum) as columns
      from pg_index join pg_attribute on attrelid = indexrelid
      group by indexrelid`.execute(db)
    const plans: string[] = []
    for (const [number, { table, columns, types }] of keys.entries()) {
      const bound = columns.map((column, place) => `${column} = $${place + 1}`).join(' and ')
      const lookup = `select 1 from only ${table} x where ${bound} for key share of x`
      await sql.raw(`prepare key_${number} (${types.join(', ')}) as ${lookup}`).execute(db)
      const nulls = types.map(() => 'null').join(', ')
      const { rows } = await sql.raw<Record<string, string>>(`explain execute key_${number} (${nulls})`).execute(db)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      const name = / using (\S+) on /.exec(plan)?.[1]
      const [index = []] = indexes.flatMap((one) => (one.name === name ? [one.columns] : []))
      const free = index.findIndex((column) => !columns.includes(column))
      // The last column of the key distinguishes a row from the others of its organization. An index can use it only if
      // it has no other column before it that the key lacks.
      const last = index.indexOf(columns.at(-1) ?? '')
      if (last === -1 || (free !== -1 && free < last)) plans.push(`${table} (${columns.join(', ')}):\n${plan}`)
    }
    expect(keys.length).toBeGreaterThan(10)
    return plans
  })
  expect(found).toEqual([])
})
