import { describe, expect, it } from 'vitest'
import { STRANGERS, createAccountUse } from './account-use.ts'

function setUp() {
  let nowMs = 1000
  const use = createAccountUse(() => nowMs)
  return {
    use,
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
    spend('a', 400)
    expect(use.isHeavy('a')).toBe(false)
    spend('b', 300)
    expect([use.isHeavy('a'), use.isHeavy('b')]).toEqual([false, false])
    spend('a', 100)
    expect([use.isHeavy('a'), use.isHeavy('b')]).toEqual([true, false])
    spend('c', 150)
    expect([use.isHeavy('a'), use.isHeavy('b'), use.isHeavy('c')]).toEqual([true, true, false])
  })

  it('ends as the use is forgotten', () => {
    const { use, pass, spend } = setUp()
    spend('a', 600)
    spend('b', 1)
    expect(use.isHeavy('a')).toBe(true)
    pass(500)
    expect(use.isHeavy('a')).toBe(true)
    pass(500)
    expect(use.isHeavy('a')).toBe(false)
  })

  it('counts running requests with the average cost of their account', () => {
    const { use, spend } = setUp()
    spend('b', 1)
    for (let times = 0; times < 20; times += 1) spend('a', 10)
    expect(use.isHeavy('a')).toBe(false)
    for (let times = 0; times < 8; times += 1) use.begin('a')
    expect(use.isHeavy('a')).toBe(true)
  })

  it('holds for all strangers together while any account is present', () => {
    const { use, pass, spend } = setUp()
    spend(STRANGERS, 2000)
    expect(use.isHeavy(STRANGERS)).toBe(false)
    spend('a', 5000)
    expect(use.isHeavy(STRANGERS)).toBe(true)
    pass(2001)
    expect(use.isHeavy(STRANGERS)).toBe(false)
  })
})
