import { describe, expect, it } from 'vitest'
import { UNKNOWN_CALLERS, createAccountUse } from './account-use.ts'

function setUp() {
  let nowMs = 1000
  let obtainable = 1
  const costs = new Map<string, number>()
  const use = createAccountUse({
    now: () => nowMs,
    obtainable: () => obtainable,
    costOf: (account, requestKind) => costs.get(`${account} ${requestKind}`),
  })
  const spend = (account: string, ms: number, requestKind = 'any', isComplete = true): void => {
    use.see(account)
    const expectedMs = use.begin(account, { requestKind, databaseMs: 0 })
    use.end(account, { expectedMs, threadMs: ms, databaseMs: 0, isComplete })
    costs.set(`${account} ${requestKind}`, ms)
  }
  return {
    use,
    /** Lets other work take the rest of the main thread's time. */
    obtain: (share: number) => (obtainable = share),
    pass: (ms: number) => (nowMs += ms),
    /** A request that costs this much. */
    spend,
    wait: (account: string, requests: number, requestKind = 'any', databaseMs = 0) => {
      for (let count = 0; count < requests; count += 1) use.countWaiting(account, { requestKind, databaseMs }, 1)
    },
  }
}

describe('isAlone', () => {
  it('holds until another account sends a request, and two seconds after its last one', () => {
    const { use, pass } = setUp()
    use.see('a')
    expect(use.isAlone('a')).toBe(true)
    use.see('b')
    expect([use.isAlone('a'), use.isAlone('b'), use.isAlone(UNKNOWN_CALLERS)]).toEqual([false, false, false])
    pass(1500)
    use.see('a')
    pass(1000)
    expect([use.isAlone('a'), use.isAlone(UNKNOWN_CALLERS)]).toEqual([true, false])
    pass(2000)
    expect(use.isAlone(UNKNOWN_CALLERS)).toBe(true)
  })

  it('does not count unknown callers as others', () => {
    const { use } = setUp()
    use.see('a')
    use.see(UNKNOWN_CALLERS)
    expect(use.isAlone('a')).toBe(true)
  })
})

describe('isHeavy', () => {
  it('holds for an account that uses much more than any other one, and never for the one that uses least', () => {
    const { use, spend } = setUp()
    spend('a', 700)
    expect(use.isHeavy('a')).toBe(false)
    spend('b', 500)
    expect([use.isHeavy('a'), use.isHeavy('b')]).toEqual([false, false])
    spend('a', 100)
    expect([use.isHeavy('a'), use.isHeavy('b')]).toEqual([true, false])
  })

  it('does not limit two busy accounts that fit beside each other, whatever others send', () => {
    const { use, spend } = setUp()
    spend('a', 500)
    spend('b', 450)
    spend('c', 1)
    expect(['a', 'b', 'c'].filter((name) => use.isHeavy(name))).toEqual([])
  })

  it('holds for one of two equal accounts if both want much more than an equal part, and then for the other', () => {
    const { use, spend } = setUp()
    for (const name of ['a', 'b']) spend(name, 700)
    spend('c', 50)
    expect(['a', 'b'].filter((name) => use.isHeavy(name))).toEqual([])
    for (const name of ['a', 'b']) spend(name, 300)
    expect([use.isHeavy('c'), use.isHeavy('a'), use.isHeavy('b')]).toEqual([false, true, true])
  })

  it('begins when all accounts together want most of what the thread can do', () => {
    const { use, obtain, spend } = setUp()
    spend('b', 150)
    spend('a', 440)
    expect(use.isHeavy('a')).toBe(false)
    obtain(0.9)
    expect(use.isHeavy('a')).toBe(true)
  })

  it('spares an account that wants less than a quarter of the thread', () => {
    const { use, spend } = setUp()
    spend('a', 240)
    for (const name of ['b', 'c', 'd']) spend(name, 150)
    spend('idle', 1)
    expect(['a', 'b', 'c', 'd'].filter((name) => use.isHeavy(name))).toEqual([])
    spend('a', 20)
    expect(use.isHeavy('a')).toBe(true)
  })

  it('counts waiting requests with the cost of their kind, or the average of their account if that is not known', () => {
    for (const [requestKind, most] of [
      ['cheap', 568],
      ['expensive', 19],
      ['unknown', 76],
    ] as const) {
      const { use, spend, wait } = setUp()
      spend('b', 1)
      spend('a', 1, 'cheap')
      spend('a', 30, 'expensive')
      wait('a', most - 10, requestKind)
      expect([requestKind, use.isHeavy('a')]).toEqual([requestKind, false])
      wait('a', 20, requestKind)
      expect([requestKind, use.isHeavy('a')]).toEqual([requestKind, true])
    }
  })

  it('counts what waiting requests will cost the database, as little as the thread on a busy machine', () => {
    const { use, obtain, spend, wait } = setUp()
    spend('b', 1)
    wait('a', 20, 'change', 27)
    expect(use.isHeavy('a')).toBe(false)
    wait('a', 1, 'change', 27)
    expect(use.isHeavy('a')).toBe(true)
    const change = { requestKind: 'change', databaseMs: 27 }
    expect(use.expectedMs('a', change)).toBe(29)
    obtain(0.5)
    expect(use.expectedMs('a', change)).toBe(15.5)
  })

  it('learns nothing about an account from a part of a request', () => {
    const { use, spend } = setUp()
    const unknown = { requestKind: 'unknown', databaseMs: 0 }
    spend('a', 12, 'page')
    expect(use.expectedMs('a', unknown)).toBe(4)
    spend('a', 1, 'page', false)
    expect(use.expectedMs('a', unknown)).toBe(4)
  })

  it('spares a neighbor that waits behind a heavy account, and frees one that was taken for heavy', () => {
    const { use, obtain, spend, wait } = setUp()
    obtain(0.3)
    spend('idle', 1)
    spend('neighbor', 310)
    expect(use.isHeavy('neighbor')).toBe(true)
    spend('attacker', 1)
    wait('attacker', 700)
    expect([use.isHeavy('attacker'), use.isHeavy('neighbor')]).toEqual([true, false])
    expect(use.isHeavy('neighbor')).toBe(false)
  })

  it('compares an account only with those that are not slowed down already', () => {
    const { use, spend } = setUp()
    spend('attacker', 900)
    spend('neighbor', 500)
    expect([use.isHeavy('attacker'), use.isHeavy('neighbor')]).toEqual([true, false])
    spend('neighbor', 150)
    expect(use.isHeavy('neighbor')).toBe(false)
  })

  it('lasts while the account uses what it gets, until it is satisfied or absent', () => {
    const { use, pass, spend } = setUp()
    spend('a', 700)
    for (let times = 0; times < 50; times += 1) {
      spend('b', 10)
      spend('a', 40)
      expect(use.isHeavy('a')).toBe(true)
      pass(200)
    }
    use.satisfy('a')
    expect(use.isHeavy('a')).toBe(false)
    spend('a', 700)
    expect(use.isHeavy('a')).toBe(true)
    pass(2001)
    use.see('b')
    use.see('a')
    expect(use.isHeavy('a')).toBe(false)
  })

  it('ends for an account that wants little for a second, though one of its requests always waits', () => {
    const { use, pass, spend, wait } = setUp()
    spend('a', 700, 'page')
    wait('a', 1, 'change')
    const heavy: boolean[] = []
    for (let times = 0; times < 20; times += 1) {
      spend('b', 10)
      spend('a', 10, 'change')
      heavy.push(use.isHeavy('a'))
      pass(200)
    }
    // What it has used before is forgotten within two seconds.
    expect(heavy.lastIndexOf(true)).toBeGreaterThan(10)
    expect(heavy.lastIndexOf(true)).toBeLessThan(17)
  })

  it('lasts while requests wait, however long ago the latest one was sent', () => {
    const { use, pass, spend, wait } = setUp()
    spend('a', 700)
    wait('a', 20)
    for (let times = 0; times < 10; times += 1) {
      spend('b', 10)
      expect([use.isHeavy('a'), use.isAlone('b')]).toEqual([true, false])
      pass(1000)
    }
    for (let count = 0; count < 20; count += 1) use.countWaiting('a', { requestKind: 'any', databaseMs: 0 }, -1)
    pass(1999)
    expect(use.isAlone('b')).toBe(false)
    pass(2)
    expect(use.isAlone('b')).toBe(true)
  })

  it('begins with the account that wants most', () => {
    const { use, spend } = setUp()
    spend('idle', 1)
    spend('first', 500)
    spend('second', 330)
    expect([use.isHeavy('second'), use.isHeavy('first')]).toEqual([false, true])
    expect(use.isHeavy('second')).toBe(false)
    spend('second', 170)
    spend('third', 300)
    expect([use.isHeavy('third'), use.isHeavy('second'), use.isHeavy('third')]).toEqual([false, true, false])
  })

  it('counts running requests with the average cost of their account', () => {
    const { use, spend } = setUp()
    spend('b', 1)
    for (let times = 0; times < 50; times += 1) spend('a', 10)
    expect(use.isHeavy('a')).toBe(false)
    for (let times = 0; times < 12; times += 1) use.begin('a', { requestKind: 'any', databaseMs: 0 })
    expect(use.isHeavy('a')).toBe(true)
  })

  it('holds for all unknown callers together while any account is present', () => {
    const { use, pass, spend } = setUp()
    spend(UNKNOWN_CALLERS, 2000)
    expect(use.isHeavy(UNKNOWN_CALLERS)).toBe(false)
    spend('a', 1000)
    expect(use.isHeavy(UNKNOWN_CALLERS)).toBe(true)
    pass(2001)
    expect(use.isHeavy(UNKNOWN_CALLERS)).toBe(false)
  })
})

describe('shareOfHeavy', () => {
  it('is a fifth for each, three fifths for all, and more while the others do hardly anything', () => {
    const { use, spend } = setUp()
    spend('other', 1)
    spend('a', 1000)
    expect([use.isHeavy('a'), use.shareOfHeavy()]).toEqual([true, 0.6])
    spend('other', 50)
    expect(use.shareOfHeavy()).toBe(0.2)
    for (const name of ['b', 'c', 'd']) {
      spend(name, 1000)
      expect(use.isHeavy(name)).toBe(true)
    }
    expect(use.shareOfHeavy()).toBe(0.15)
  })
})
