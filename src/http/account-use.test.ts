import { describe, expect, it } from 'vitest'
import { STRANGERS, createAccountUse } from './account-use.ts'

function setUp() {
  let nowMs = 1000
  let obtainable = 1
  const use = createAccountUse(
    () => nowMs,
    () => obtainable,
  )
  return {
    use,
    /** Lets other work take the rest of the main thread's time. */
    obtain: (share: number) => (obtainable = share),
    pass: (ms: number) => (nowMs += ms),
    /** A request that costs this much. */
    spend: (account: string, ms: number) => {
      use.see(account)
      use.end(account, { expectedMs: use.begin(account), realMs: ms })
    },
  }
}

describe('isAlone', () => {
  it('holds until another account sends a request, and two seconds after its last one', () => {
    const { use, pass } = setUp()
    use.see('a')
    expect(use.isAlone('a')).toBe(true)
    use.see('b')
    expect([use.isAlone('a'), use.isAlone('b'), use.isAlone(STRANGERS)]).toEqual([false, false, false])
    pass(1500)
    use.see('a')
    pass(1000)
    expect([use.isAlone('a'), use.isAlone(STRANGERS)]).toEqual([true, false])
    pass(2000)
    expect(use.isAlone(STRANGERS)).toBe(true)
  })

  it('does not count strangers as others', () => {
    const { use } = setUp()
    use.see('a')
    use.see(STRANGERS)
    expect(use.isAlone('a')).toBe(true)
  })
})

describe('isHeavy', () => {
  it('holds for an account that uses much more than another one, and never for the one that uses least', () => {
    const { use, spend } = setUp()
    spend('a', 700)
    expect(use.isHeavy('a')).toBe(false)
    spend('b', 500)
    expect([use.isHeavy('a'), use.isHeavy('b')]).toEqual([false, false])
    spend('a', 100)
    expect([use.isHeavy('a'), use.isHeavy('b')]).toEqual([true, false])
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
    for (const name of ['a', 'b', 'c', 'd']) spend(name, 240)
    spend('idle', 1)
    expect(['a', 'b', 'c', 'd'].filter((name) => use.isHeavy(name))).toEqual([])
    spend('a', 20)
    expect(use.isHeavy('a')).toBe(true)
  })

  it('counts waiting requests with the average cost of their account', () => {
    const { use, spend } = setUp()
    spend('b', 1)
    spend('a', 22)
    use.setWaiting('a', 50)
    expect(use.isHeavy('a')).toBe(false)
    use.setWaiting('a', 99)
    expect(use.isHeavy('a')).toBe(true)
  })

  it('spares a neighbor that waits behind a heavy account, and frees one that was taken for heavy', () => {
    const { use, obtain, spend } = setUp()
    obtain(0.3)
    spend('idle', 1)
    spend('neighbor', 310)
    expect(use.isHeavy('neighbor')).toBe(true)
    spend('attacker', 1)
    use.setWaiting('attacker', 450)
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

  it('lasts until the account is satisfied or absent, however little it uses meanwhile', () => {
    const { use, pass, spend } = setUp()
    const present = () => ['a', 'b'].forEach((account) => use.see(account))
    spend('b', 1)
    spend('a', 700)
    expect(use.isHeavy('a')).toBe(true)
    for (let times = 0; times < 5; times += 1) {
      pass(1000)
      present()
    }
    expect(use.isHeavy('a')).toBe(true)
    use.satisfy('a')
    expect(use.isHeavy('a')).toBe(false)
    spend('a', 700)
    expect(use.isHeavy('a')).toBe(true)
    pass(2001)
    use.see('b')
    use.see('a')
    expect(use.isHeavy('a')).toBe(false)
  })

  it('begins with the account that wants most', () => {
    const { use, spend } = setUp()
    spend('idle', 1)
    spend('first', 500)
    spend('second', 400)
    expect([use.isHeavy('second'), use.isHeavy('first')]).toEqual([false, true])
    expect(use.isHeavy('second')).toBe(false)
    spend('third', 300)
    expect([use.isHeavy('third'), use.isHeavy('second'), use.isHeavy('third')]).toEqual([false, true, false])
  })

  it('counts running requests with the average cost of their account', () => {
    const { use, spend } = setUp()
    spend('b', 1)
    for (let times = 0; times < 50; times += 1) spend('a', 10)
    expect(use.isHeavy('a')).toBe(false)
    for (let times = 0; times < 12; times += 1) use.begin('a')
    expect(use.isHeavy('a')).toBe(true)
  })

  it('holds for all strangers together while any account is present', () => {
    const { use, pass, spend } = setUp()
    spend(STRANGERS, 2000)
    expect(use.isHeavy(STRANGERS)).toBe(false)
    spend('a', 1000)
    expect(use.isHeavy(STRANGERS)).toBe(true)
    pass(2001)
    expect(use.isHeavy(STRANGERS)).toBe(false)
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
