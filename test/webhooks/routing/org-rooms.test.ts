import { afterAll, beforeAll, expect, it } from 'vitest'
import { createOrgRooms } from '../../../src/webhooks/routing/org-rooms.ts'
import { type TestContext, createTestContext } from '../../support/servers/server.ts'

let test: TestContext
beforeAll(async () => {
  test = await createTestContext()
})
afterAll(() => test.close())

const org = (index: number): string => `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`

it('an organization that was known keeps its room when too many are known', async () => {
  const rooms = createOrgRooms(50)
  const many = Array.from({ length: 10_001 }, (_, index) => [org(index), 1] as const)
  await rooms.find(test.ctx.db, new Map(many))
  const [known, other] = [org(5), org(20_000)]
  const found = await rooms.find(test.ctx.db, new Map([known, other].map((id) => [id, 1])))
  expect([...found]).toEqual([
    [known, expect.objectContaining({ shared: 50 })],
    [other, expect.objectContaining({ shared: 50 })],
  ])
})
