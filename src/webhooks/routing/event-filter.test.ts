import { expect, it, onTestFinished, vi } from 'vitest'
import { createEventFilter } from './event-filter.ts'
import type { Subscriber } from './planning/plan-round.ts'

const subscriber = (id: string, filter: string | null): Subscriber => {
  return { orgId: 'o', id, siteId: null, singleEvent: false, filter, byDevice: false }
}

it('reads an event once for all filters, and lists the members of its objects once', () => {
  let lists = 0
  const ownKeys = (target: object): (string | symbol)[] => {
    lists += 1
    return Reflect.ownKeys(target)
  }
  const parse = vi.spyOn(JSON, 'parse').mockReturnValue(new Proxy({ a: { b: 1 }, c: { b: 2 } }, { ownKeys }))
  onTestFinished(() => parse.mockRestore())
  const recipients = [1, 2, 3].map((b) => subscriber(`w${b}`, `$.events[0][?@.b == ${b}]`))
  const steps = createEventFilter()({ topic: 'audits', json: '{}' }, [...recipients, subscriber('all', null)])
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  expect(step.value.map(({ id }) => id)).toEqual(['w1', 'w2', 'all'])
  expect({ lists, parsed: parse.mock.calls.length }).toEqual({ lists: 1, parsed: 1 })
})
