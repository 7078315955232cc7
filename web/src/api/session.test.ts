import { expect, it } from 'vitest'
import { Problem } from './problem.ts'
import { createPageSession } from './session.ts'

/** A browser in whose tabs `ada` is signed in, on a page of hers. */
function setUp() {
  const browser: { token: string | null; person: string | null | Error } = { token: 'first', person: 'ada' }
  const calls: string[] = []
  const session = createPageSession({
    readToken: () => browser.token,
    async readPerson() {
      calls.push('read')
      if (browser.person instanceof Error) throw browser.person
      if (browser.person === null) throw new Problem(401, 'No session')
      return browser.person
    },
    discard: () => calls.push('discarded'),
  })
  session.subscribe(() => calls.push(session.isEnded() ? 'ended' : 'goes on'))
  session.begin('ada')
  return { browser, calls, session }
}

it('ends once, however many requests are refused, and goes on with a new session of the same person', async () => {
  const { browser, calls, session } = setUp()
  session.end(session.renewals())
  session.end(session.renewals())
  await session.check()
  expect(calls).toEqual(['ended'])
  browser.token = 'second'
  expect(session.token()).toBe('second')
  await Promise.all([session.check(), session.check()])
  await session.check()
  expect(calls).toEqual(['ended', 'read', 'goes on'])
})

it('knows a late refusal of the former session', async () => {
  const { browser, calls, session } = setUp()
  const asked = session.renewals()
  session.end(asked)
  browser.token = 'second'
  await session.check()
  session.end(asked)
  expect(calls).toEqual(['ended', 'read', 'goes on'])
  session.end(session.renewals())
  expect(calls.at(-1)).toBe('ended')
})

it('knows a late refusal of the session from before a sign-out and a new sign-in on the same page', () => {
  const { calls, session } = setUp()
  const asked = session.renewals()
  session.leave()
  session.begin('grace')
  session.end(asked)
  expect(calls).toEqual([])
  session.begin('grace')
  session.end(session.renewals())
  expect(calls).toEqual(['ended'])
})

it('notices that the person has signed out in another tab, and the new session there', async () => {
  const { browser, calls, session } = setUp()
  Object.assign(browser, { token: null, person: null })
  await session.check()
  expect(calls).toEqual(['ended'])
  Object.assign(browser, { token: 'second', person: 'ada' })
  await session.check()
  expect(calls).toEqual(['ended', 'read', 'goes on'])
  expect(session.token()).toBe('second')
})

it('goes on without a pause if the other tab has signed in again by then', async () => {
  const { browser, calls, session } = setUp()
  browser.token = 'second'
  expect(session.token()).toBe('first')
  await session.check()
  expect(calls).toEqual(['read', 'goes on'])
  expect(session.token()).toBe('second')
})

it('asks whose session it is before a refusal ends it, if the other tab has signed in again by then', async () => {
  const { browser, calls, session } = setUp()
  browser.token = 'second'
  session.end(session.renewals())
  await session.check()
  expect(calls).toEqual(['read', 'goes on'])
  Object.assign(browser, { token: 'third', person: null })
  session.end(session.renewals())
  await session.check()
  expect(calls.slice(2)).toEqual(['read', 'ended'])
})

it('shows nothing any more to somebody else', async () => {
  const { browser, calls, session } = setUp()
  Object.assign(browser, { token: 'second', person: 'grace' })
  await session.check()
  expect(calls).toEqual(['read', 'ended', 'discarded'])
  expect(session.isEnded()).toBe(true)
})

it('waits while the server refuses the new session, because it lacks its second factor or is that of another server', async () => {
  const { browser, calls, session } = setUp()
  Object.assign(browser, { token: 'second', person: null })
  await session.check()
  browser.person = 'ada'
  await session.check()
  expect(calls).toEqual(['read', 'ended', 'read', 'goes on'])
})

it('asks again later if the server does not answer', async () => {
  const { browser, calls, session } = setUp()
  Object.assign(browser, { token: 'second', person: new Error('away') })
  await session.check()
  expect(session.isEnded()).toBe(false)
  browser.person = 'grace'
  await session.check()
  expect(calls).toEqual(['read', 'read', 'ended', 'discarded'])
})

it('has nobody outside of the pages of a person', async () => {
  const { browser, calls, session } = setUp()
  session.end(session.renewals())
  session.leave()
  session.end(session.renewals())
  browser.token = 'second'
  await session.check()
  expect(calls).toEqual(['ended', 'discarded', 'goes on'])
  expect(session.token()).toBe('second')
  session.begin('grace')
  session.begin('ada')
  expect(calls.at(-1)).toBe('discarded')
})
