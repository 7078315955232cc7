import { beforeEach, expect, it } from 'vitest'
import { type KeptSlots, createKeptSlots } from './kept-slots.ts'
import { type Pool, createPool } from './pool.ts'

let nowMs: number
let pool: Pool
let kept: KeptSlots
beforeEach(() => {
  nowMs = 0
  pool = createPool({ total: 4, perOrg: 2 })
  kept = createKeptSlots(pool, () => nowMs)
})

function take(orgId: string): boolean {
  const isTaken = kept.ask(orgId)
  if (isTaken) pool.add(orgId, 1)
  return isTaken
}

/** Passes time by looks that are 50 ms apart, after each of which the organizations ask, and may not take a slot. */
function ask(ms: number, ...orgIds: readonly string[]): void {
  for (const end = nowMs + ms; nowMs < end;) {
    nowMs += 50
    kept.age(nowMs)
    for (const orgId of orgIds) expect([orgId, take(orgId)]).toEqual([orgId, false])
  }
}

/** Two organizations take all slots, and take each again as soon as they have released it. */
function takeAll(): void {
  expect(['a', 'a', 'b', 'b'].map(take)).toEqual([true, true, true, true])
}

function releaseAndTake(orgId: string): boolean {
  pool.add(orgId, -1)
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
  pool.add('a', -1)
  expect(take('c')).toBe(true)
  pool.add('c', -1)
  ask(50)
  expect(take('a')).toBe(true)
})

it('keeps a slot for each of them, and lets others have what is left', () => {
  takeAll()
  ask(1100, 'c', 'd')
  for (const orgId of ['a', 'a', 'b']) pool.add(orgId, -1)
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

it('lets lanes be claimed to ask for a slot, once per second while none is free', () => {
  takeAll()
  const claimsAt = (ms: number): boolean => {
    nowMs = ms
    return kept.claimsToAsk()
  }
  expect([0, 999, 1000, 1001, 1999, 2000].map(claimsAt)).toEqual([false, false, true, false, false, true])
  pool.add('a', -1)
  expect(claimsAt(3000)).toBe(false)
  pool.add('a', 1)
  expect([3001, 4000, 4001].map(claimsAt)).toEqual([false, false, true])
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
