import { beforeEach, expect, it } from 'vitest'
import { type ClaimedTurn, createClaimedTurns } from './claimed-turns.ts'
import { type KeptSlots, createKeptSlots } from './kept-slots.ts'
import { type Pool, createPool } from './pool.ts'

let nowMs: number
let pool: Pool
let kept: KeptSlots
/** One lane of each organization. */
let lanes: Record<'a' | 'b' | 'c' | 'd', ClaimedTurn>
beforeEach(() => {
  nowMs = 0
  pool = createPool({ total: 4, perOrg: 2 })
  kept = createKeptSlots(pool, () => nowMs)
  lanes = { a: laneOf('a'), b: laneOf('b'), c: laneOf('c'), d: laneOf('d') }
})

function laneOf(orgId: string, retry = () => {}): ClaimedTurn {
  const bytes = { total: 1, perOrg: 1 }
  return createClaimedTurns({ fastBytes: bytes, slowBytes: bytes }).open(
    { orgId, webhookId: orgId, bytes: 0, retry },
    false,
  )
}

type Org = keyof typeof lanes

function takeFor(lane: ClaimedTurn): boolean {
  const isTaken = kept.ask(lane)
  if (isTaken) {
    pool.add(lane.orgId, 1)
    lane.requests += 1
  }
  return isTaken
}

const take = (orgId: Org): boolean => takeFor(lanes[orgId])

function release(orgId: Org): void {
  pool.add(orgId, -1)
  lanes[orgId].requests -= 1
}

/** Passes time by looks that are 50 ms apart, after each of which the organizations ask, and may not take a slot. */
function ask(ms: number, ...orgIds: readonly Org[]): void {
  for (const end = nowMs + ms; nowMs < end;) {
    nowMs += 50
    kept.age(nowMs)
    for (const orgId of orgIds) expect([orgId, take(orgId)]).toEqual([orgId, false])
  }
}

/** Two organizations take all slots, and take each again as soon as they have released it. */
function takeAll(): void {
  expect([take('a'), take('a'), take('b'), take('b')]).toEqual([true, true, true, true])
}

function releaseAndTake(orgId: Org): boolean {
  release(orgId)
  return take(orgId)
}

it('keeps the next slot for an organization that has waited for its first one for a second', () => {
  takeAll()
  expect(take('c')).toBe(false)
  ask(950, 'c')
  expect(releaseAndTake('a')).toBe(true)
  ask(50, 'c')
  expect(releaseAndTake('a')).toBe(false)
  nowMs += 50
  kept.age(nowMs)
  expect([take('a'), take('c')]).toEqual([false, true])
  // It has one now, so it waits as the others do.
  expect(releaseAndTake('b')).toBe(true)
  ask(2000, 'c')
  expect(releaseAndTake('b')).toBe(true)
})

it('keeps none for an organization that has got one since it asked in vain', () => {
  takeAll()
  ask(1000, 'c')
  release('a')
  expect(take('c')).toBe(true)
  release('c')
  ask(50)
  expect(take('a')).toBe(true)
})

it('keeps a slot for each of them, and lets others have what is left', () => {
  takeAll()
  ask(1100, 'c', 'd')
  for (const orgId of ['a', 'a', 'b'] as const) release(orgId)
  expect([take('b'), take('a'), take('c'), take('a'), take('d')]).toEqual([true, false, true, false, true])
})

it('keeps none for an organization that asks no more, and lets it wait anew', () => {
  takeAll()
  ask(1100, 'c')
  ask(50)
  expect(releaseAndTake('a')).toBe(false)
  ask(50)
  expect(take('a')).toBe(true)
  ask(950, 'c')
  expect(releaseAndTake('a')).toBe(true)
})

it('lets a lane have the slot of another one of its organization after a second, before others', () => {
  takeAll()
  const got: boolean[] = []
  const waiting: ClaimedTurn = laneOf('a', () => got.push(takeFor(waiting)))
  const later: ClaimedTurn = laneOf('a', () => got.push(takeFor(later)))
  expect([takeFor(waiting), takeFor(later)]).toEqual([false, false])
  for (const look of [950, 50, 50]) {
    nowMs += look
    kept.age(nowMs)
    expect([takeFor(waiting), takeFor(later), got]).toEqual([false, false, []])
    if (look === 950) expect(releaseAndTake('a')).toBe(true)
  }
  // The other organization is at its share.
  expect([releaseAndTake('b'), got]).toEqual([true, []])
  expect([releaseAndTake('a'), got]).toEqual([false, [true]])
  expect([releaseAndTake('a'), got]).toEqual([false, [true, true]])
  // These have one now, and the first one has to wait as long as they did.
  pool.add('a', -1)
  waiting.requests -= 1
  expect([takeFor(waiting), got]).toEqual([true, [true, true]])
})

it('lets a lane take the slot again if the one that has waited does not', () => {
  takeAll()
  const closing = laneOf('a')
  for (const look of [0, 1000, 50]) {
    nowMs += look
    kept.age(nowMs)
    expect(takeFor(closing)).toBe(false)
  }
  expect(releaseAndTake('a')).toBe(true)
})

it.each([
  ['lanes of an organization', () => 'a'],
  ['organizations', String],
])('lets %s have slots by turns if more wait than have one in a second', (_, orgOf) => {
  const counts = Array.from({ length: 100 }, () => 0)
  const turns = counts.map((_count, lane): ClaimedTurn => laneOf(orgOf(lane), () => start(lane)))
  const ends = new Map<ClaimedTurn, number>()
  function start(lane: number): void {
    const turn = turns[lane]
    if (turn === undefined || turn.requests > 0 || !takeFor(turn)) return
    counts[lane] = (counts[lane] ?? 0) + 1
    ends.set(turn, nowMs + 20)
  }
  for (; nowMs < 10_000; nowMs += 10) {
    const isLook = nowMs % 50 === 0
    if (isLook) kept.age(nowMs)
    // The same lanes always ask first.
    for (const [lane, turn] of turns.entries()) {
      const hasEnded = ends.get(turn) === nowMs
      if (hasEnded) {
        pool.add(turn.orgId, -1)
        turn.requests -= 1
      }
      if (hasEnded || isLook) start(lane)
    }
  }
  expect(Math.min(...counts)).toBeGreaterThan(5)
})

it('lets lanes be claimed to ask for a slot, once per second while an organization may use no more', () => {
  takeAll()
  const claimsAt = (ms: number): boolean => {
    nowMs = ms
    return kept.claimsToAsk()
  }
  expect([0, 999, 1000, 1001, 1999, 2000].map(claimsAt)).toEqual([false, false, true, false, false, true])
  release('a')
  expect(claimsAt(3000)).toBe(true)
  release('b')
  expect(claimsAt(4000)).toBe(false)
  expect(take('a')).toBe(true)
  expect([4001, 5000, 5001].map(claimsAt)).toEqual([false, false, true])
})

it('knows which organizations have asked in vain, until they ask no more', () => {
  takeAll()
  ask(50, 'c')
  expect(kept.waitingOrgIds()).toEqual(['c'])
  kept.age(nowMs)
  expect(kept.waitingOrgIds()).toEqual(['c'])
  kept.age(nowMs)
  expect(kept.waitingOrgIds()).toEqual([])
})
