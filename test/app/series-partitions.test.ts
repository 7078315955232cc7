import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { prepareSeries, seriesTasks } from '../../src/devices/telemetry/tasks.ts'
import { type TestContext, createTestContext } from '../support/servers/server.ts'
import { createTestClock } from '../support/test-clock.ts'

const clock = createTestClock()
let context: TestContext
beforeAll(async () => {
  context = await createTestContext(clock)
})
afterAll(() => context.close())

async function partitions(): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_inherits join pg_class on oid = inhrelid
    where inhparent = 'device_series'::regclass order by 1`.execute(context.ctx.db)
  return rows.map(({ name }) => name.replace('device_series_', ''))
}

it('keeps the series of the present day and two days before, and drops older ones with their partition', async () => {
  for (let day = 0; day < 5; day += 1) {
    await prepareSeries(context.ctx)
    await sql`insert into device_series (org_id, device_id, created_at, samples)
      values (gen_random_uuid(), gen_random_uuid(), ${clock.now()}, 1)`.execute(context.ctx.db)
    clock.advance(24 * 3600e3)
  }
  const [chore] = seriesTasks(context.ctx)
  await chore?.run(null, new AbortController().signal)
  const today = clock.now().toISOString().slice(0, 10).replaceAll('-', '')
  const names = await partitions()
  // Two days before, today, three days ahead, and the default one.
  expect(names).toHaveLength(2 + 1 + 3 + 1)
  expect(names[2]).toBe(today)
  const { rows } = await sql<{ count: number }>`select count(*)::int from device_series`.execute(context.ctx.db)
  expect(rows[0]?.count).toBe(2)
})
