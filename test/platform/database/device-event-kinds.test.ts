import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { deviceEvents, families, kindOf } from '../../../src/events/device-event-types.ts'
import { type TestContext, createTestContext } from '../../support/servers/server.ts'
import { keysOf } from '../../../src/platform/records.ts'

let test: TestContext
beforeAll(async () => {
  test = await createTestContext()
})
afterAll(() => test.close())

it('the migrations have inserted the code of each declared event, and no other', async () => {
  const { rows } = await sql`select code, device_type, type, warns from device_event_kind order by code`.execute(
    test.ctx.db,
  )
  const names = keysOf(deviceEvents)
  const declared = names.flatMap((what) =>
    (['ap', 'switch', 'gateway'] as const).map((deviceType) => {
      const warns = deviceEvents[what].level === 'warn'
      return { code: kindOf(deviceType, what), deviceType, type: `${families[deviceType]}_${what}`, warns }
    }),
  )
  expect(rows).toEqual(declared.toSorted((a, b) => a.code - b.code))
})
