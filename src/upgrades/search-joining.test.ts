import { expect, test } from 'vitest'
import { AppError } from '../platform/errors.ts'
import { type DueSearch, type JoiningSearch, type Portion, concerningJoining, searchAll } from './search-joining.ts'

/** One look takes most of a lease of a minute. */
const LOOK_MS = 50_000
const DEVICES = ['1', '2', '3', '4']

interface Faults {
  /** The upgrade whose lease another worker gets during the first look. */
  readonly taken?: string
  /** The upgrade that can't be prepared. */
  readonly unprepared?: string
  /** Returns why these devices can't be planned. */
  readonly failureOf?: (devices: readonly string[]) => Error | null
  /** Why those that were planned can't be taken in. */
  readonly refusal?: Error
}

/** Slow searches of these upgrades, each of which all devices may join. */
function slowSearch(ids: readonly string[], { taken, unprepared, failureOf = () => null, refusal }: Faults = {}) {
  let nowMs = 0
  const due = ids.map((id): DueSearch => ({ orgId: 'org', id, after: null }))
  const leases = new Map<string, number>()
  const seen = { ended: [] as string[], expired: [] as string[], passed: [] as string[], errors: 0, lost: 0 }
  const devicesOf = ({ after, limit }: Portion) => DEVICES.filter((id) => after === null || id > after).slice(0, limit)
  const looked = (portion: Portion) => ({ last: devicesOf(portion).at(portion.limit - 1) ?? null })
  const search: JoiningSearch<DueSearch, string> = {
    joins: 'devices',
    pauseMs: () => 60_000,
    claim: ({ leaseUntilMs }) => {
      const upgrade = due.shift()
      if (upgrade !== undefined) leases.set(upgrade.id, leaseUntilMs)
      return Promise.resolve(upgrade)
    },
    prepare: ({ id }) => (id === unprepared ? Promise.reject(new Error('No catalog')) : Promise.resolve(id)),
    look: async (id, portion) => {
      nowMs += LOOK_MS
      if (id === taken) leases.set(id, nowMs + LOOK_MS)
      if (nowMs > (leases.get(id) ?? 0)) seen.expired.push(id)
      const failure = failureOf(devicesOf(portion))
      await concerningJoining(() => (failure === null ? undefined : Promise.reject(failure)))
      if (refusal !== undefined) throw refusal
      return looked(portion)
    },
    passBy: (_, portion) => {
      seen.passed.push(...devicesOf(portion))
      return Promise.resolve(looked(portion))
    },
    update: ({ id }, { dueMs, heldUntilMs }) => {
      if (leases.get(id) !== heldUntilMs) return Promise.resolve(false)
      leases.set(id, dueMs)
      if (!seen.ended.includes(id)) seen.ended.push(id)
      return Promise.resolve(true)
    },
  }
  const log = { error: () => (seen.errors += 1), warn: () => (seen.lost += 1) }
  const ctx = { serviceClock: { nowMs: () => nowMs }, log } as unknown as Parameters<typeof searchAll>[0]
  return { seen, run: () => searchAll(ctx, search, DEVICES.length) }
}

test('each upgrade has its own lease, however long the searches before it take', async () => {
  const { seen, run } = slowSearch(['a', 'b', 'c'])
  expect(await run()).toBe(false)
  expect(seen).toEqual({ ended: ['a', 'b', 'c'], expired: [], passed: [], errors: 0, lost: 0 })
})

test('each further look of a search renews its lease', async () => {
  const failureOf = (devices: readonly string[]) => (devices.includes('3') ? new Error('Bad') : null)
  const { seen, run } = slowSearch(['a', 'b'], { failureOf })
  await run()
  expect(seen).toEqual({ ended: ['a', 'b'], expired: [], passed: ['3', '3'], errors: 2, lost: 0 })
})

test.each([
  ['at its end', null],
  ['before its next look', new Error('Bad')],
])('a search that has lost its lease finds that out %s, and sets nothing', async (_, failure) => {
  const failureOf = (devices: readonly string[]) => (devices.length > 2 ? failure : null)
  const { seen, run } = slowSearch(['a', 'b'], { taken: 'a', failureOf })
  expect(await run()).toBe(false)
  expect(seen).toEqual({ ended: ['b'], expired: [], passed: [], errors: 0, lost: 1 })
})

test('what is the fault of no device passes none by, and ends the search of its upgrade only', async () => {
  const { seen, run } = slowSearch(['a', 'b'], { unprepared: 'a' })
  await run()
  expect(seen).toEqual({ ended: ['b'], expired: [], passed: [], errors: 1, lost: 0 })
  const conflict = new AppError('conflict', 'A package of this upgrade has just been deleted')
  const changed = slowSearch(['a'], { failureOf: () => conflict })
  await changed.run()
  // Neither has a defect of the service, in the transaction in which devices join, anything to do with them.
  const refused = slowSearch(['a'], { refusal: new Error('No such column') })
  await refused.run()
  expect(refused.seen).toEqual(changed.seen)
  expect(changed.seen).toEqual({ ended: [], expired: [], passed: [], errors: 1, lost: 0 })
})

test('a round ends after twenty upgrades and says that there may be more', async () => {
  const { seen, run } = slowSearch(Array.from({ length: 25 }, (_, index) => `upgrade ${index}`))
  expect(await run()).toBe(true)
  expect(seen.ended).toHaveLength(20)
})
