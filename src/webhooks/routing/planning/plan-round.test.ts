import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_EVENT_BYTES, type Subscriber, type WaitingEvent, type WaitingQueue, planRound } from './plan-round.ts'

const MAX_BYTES = 4 * 1024 * 1024
const limits = { bytes: MAX_BYTES, events: 1000 }

function event(id: string, of: Partial<WaitingEvent> = {}): WaitingEvent {
  const fresh = { routedTo: null, sentTo: null }
  return { id, orgId: 'a', siteId: null, topic: 'audits', bytes: 1000, json: null, ...fresh, ...of }
}

function subscribers(orgId: string, count: number): Subscriber[] {
  return Array.from({ length: count }, (_, index) => ({
    orgId,
    id: `${orgId}-${String(index).padStart(4, '0')}`,
    siteId: null,
    singleEvent: false,
    filter: null,
    byDevice: false,
  }))
}

/** Gives each queue the subscribers of its organization. */
function queuesOf(queues: readonly (readonly WaitingEvent[])[], all: readonly Subscriber[]): WaitingQueue[] {
  return queues.map((events) => ({ events, subscribers: all.filter(({ orgId }) => orgId === events[0]?.orgId) }))
}

/** Runs rounds until nothing is left. Returns the events that each webhook got, in order, and the number of rounds. */
function routeAll(queues: readonly (readonly WaitingEvent[])[], all: readonly Subscriber[], { events } = limits) {
  const received = new Map<string, string[]>(all.map(({ id }) => [id, []]))
  const gone: string[] = []
  let waiting = queues
  let rounds = 0
  while (waiting.length > 0) {
    rounds += 1
    const plan = planRound(queuesOf(waiting, all), { ...limits, events })
    expect(plan.steps.length).toBeLessThanOrEqual(events)
    const bytes = plan.steps.reduce((sum, step) => sum + step.event.bytes * step.recipients.length, 0)
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
    for (const {
      event: { id },
      recipients,
    } of plan.steps)
      for (const one of recipients) received.get(one.id)?.push(id)
    const left = new Map(plan.steps.map((step) => [step.event.id, step.routedTo]))
    gone.push(...plan.withoutRecipients, ...plan.oversized)
    waiting = waiting
      .map((queue) =>
        queue.flatMap((one) => {
          if (gone.includes(one.id) || left.get(one.id) === null) return []
          return [{ ...one, routedTo: left.get(one.id) ?? one.routedTo }]
        }),
      )
      .filter(({ length }) => length > 0)
    expect(plan.complete).toBe(waiting.length === 0)
  }
  return { received, rounds }
}

describe('planRound', () => {
  it('gives every webhook every event once, in order, within the limits, for any sizes', () => {
    const bytes = fc.oneof(fc.integer({ min: 100, max: 5000 }), fc.integer({ min: 1, max: MAX_EVENT_BYTES }))
    const queue = (orgId: string) =>
      fc
        .array(bytes, { minLength: 1, maxLength: 10 })
        .map((sizes) => sizes.map((size, index) => event(`${orgId}${index}`, { orgId, bytes: size })))
    fc.assert(
      fc.property(queue('a'), queue('b'), fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 20 }), (...of) => {
        const [a, b, count, events] = of
        const all = [...subscribers('a', count), ...subscribers('b', 2)]
        const { received } = routeAll([a, b], all, { ...limits, events })
        for (const { id, orgId } of all) {
          const expected = (orgId === 'a' ? a : b).map((one) => one.id)
          expect(received.get(id)).toEqual(expected)
        }
      }),
      { numRuns: 100 },
    )
  })

  it('routes a small event immediately beside a large one of another organization', () => {
    const all = [...subscribers('a', 140), ...subscribers('b', 1)]
    const large = event('large', { bytes: 2_000_000 })
    const { steps, complete } = planRound(queuesOf([[large], [event('small', { orgId: 'b' })]], all), limits)
    expect(steps.map((step) => [step.event.id, step.recipients.length, step.routedTo])).toEqual([
      // What the small event does not need is the large one's.
      ['large', 2, 'a-0001'],
      ['small', 1, null],
    ])
    expect(complete).toBe(false)
  })

  it('gives a backlog what queues with few events leave', () => {
    const orgs = Array.from({ length: 199 }, (_, org) => `o${org}`)
    const backlog = Array.from({ length: 100 }, (_, index) => event(String(index), { bytes: 20_000 }))
    const queues = [backlog, ...orgs.map((orgId) => [event(`of ${orgId}`, { orgId })])]
    const all = ['a', ...orgs].flatMap((orgId) => subscribers(orgId, 1))
    const { steps, complete } = planRound(queuesOf(queues, all), limits)
    expect([steps.length, complete]).toEqual([299, true])
  })

  it('leaves a busy organization and one with few events equal shares, whichever comes first', () => {
    const of = (orgId: string, count: number) =>
      Array.from({ length: count }, (_, index) => event(`${orgId}${index}`, { orgId, bytes: 20_000 }))
    const all = [...subscribers('a', 1), ...subscribers('b', 1)]
    const [backlog, few] = [of('a', 1000), of('b', 90)]
    for (const queues of [
      [backlog, few],
      [few, backlog],
    ]) {
      const { steps } = planRound(queuesOf(queues, all), { ...limits, events: 2000 })
      expect(steps.filter((step) => step.event.orgId === 'b')).toHaveLength(90)
      expect(steps.length).toBeGreaterThan(180)
    }
    const { steps } = planRound(queuesOf([backlog, of('b', 1000)], all), { ...limits, events: 2000 })
    const ofOrg = (orgId: string) => steps.filter((step) => step.event.orgId === orgId)
    expect([ofOrg('a').length, ofOrg('b').length]).toEqual([102, 102])
  })

  it('routes an event that exceeds the share of its queue if the round has room for it, and the first one in any case', () => {
    const all = ['a', 'b', 'c'].flatMap((orgId) => subscribers(orgId, 1))
    const queues = ['a', 'b', 'c'].map((orgId) => [event(orgId, { orgId, bytes: orgId === 'a' ? 1000 : 3_000_000 })])
    const idsOf = (bytes: number) =>
      planRound(queuesOf(queues, all), { ...limits, bytes }).steps.map((step) => step.event.id)
    expect(idsOf(MAX_BYTES)).toEqual(['a', 'b'])
    expect(idsOf(100)).toEqual(['a'])
  })

  it('continues after the last webhook of the previous round', () => {
    const [step] = planRound(queuesOf([[event('e', { routedTo: 'a-0001' })]], subscribers('a', 4)), limits).steps
    expect(step?.recipients.map(({ id }) => id)).toEqual(['a-0002', 'a-0003'])
  })

  it('limits the number of messages of tiny events', () => {
    const queue = Array.from({ length: 1000 }, (_, index) => event(String(index), { bytes: 2 }))
    const { steps } = planRound(queuesOf([queue], subscribers('a', 1000)), limits)
    const messages = steps.reduce((sum, { recipients }) => sum + recipients.length, 0)
    expect(messages).toBeGreaterThan(5000)
    expect(messages).toBeLessThan(10_000)
  })

  it('limits the number of filters that are tried, and not the messages of other webhooks', () => {
    const queue = Array.from({ length: 1000 }, (_, index) => event(String(index), { bytes: 2 }))
    const all = subscribers('a', 100)
    const messagesWith = (filters: number): number => {
      const some = all.map((one, index) => Object.assign({}, one, index < filters && { filter: '$' }))
      const { steps } = planRound(queuesOf([queue], some), limits)
      return steps.reduce((sum, { recipients }) => sum + recipients.length, 0)
    }
    expect(messagesWith(100)).toBeGreaterThan(100)
    expect(messagesWith(100)).toBeLessThan(300)
    expect(messagesWith(1)).toBeGreaterThan(5000)
  })

  it('separates events without subscribers and events that are too large for a message', () => {
    const queue = [event('too large', { bytes: MAX_EVENT_BYTES + 1 }), event('of a site', { siteId: 's' }), event('x')]
    const ofSite = subscribers('a', 1).map((one) => Object.assign(one, { siteId: 's' }))
    const { steps, withoutRecipients, oversized } = planRound(queuesOf([queue], ofSite), limits)
    expect(steps.map((step) => step.event.id)).toEqual(['of a site'])
    expect({ withoutRecipients, oversized }).toEqual({ withoutRecipients: ['x'], oversized: ['too large'] })
  })
})

describe('events that may have been sent', () => {
  const all = subscribers('a', 3).map((one, site) => Object.assign(one, { id: `w${site}`, siteId: `s${site}` }))
  const queueOf = (kinds: readonly { readonly site: number; readonly isSent: boolean }[]) =>
    kinds.map(({ site, isSent }, index) =>
      event(String(index).padStart(3, '0'), { siteId: `s${site}`, sentTo: isSent ? `w${site}` : null }),
    )

  it('are routed with those of other webhooks, and before new messages of their own', () => {
    const kinds = Array.from({ length: 200 }, (_, index) => ({ site: index % 3, isSent: index % 3 === 0 || index < 6 }))
    const plan = planRound([{ events: queueOf(kinds), subscribers: all }], limits)
    expect([plan.steps.length, plan.complete]).toEqual([200, true])
  })

  it('never come after a new message of the same webhook in a round', () => {
    const kinds = fc.array(fc.record({ site: fc.integer({ min: 0, max: 2 }), isSent: fc.boolean() }), { minLength: 1 })
    fc.assert(
      fc.property(kinds, (of) => {
        const events = queueOf(of)
        const plan = planRound([{ events, subscribers: all }], limits)
        const renewed = new Set<string>()
        for (const { event: one, recipients } of plan.steps)
          for (const { id } of recipients) {
            if (id === one.sentTo) expect(renewed.has(id)).toBe(false)
            else renewed.add(id)
          }
        // The round ends at the first event that would.
        const next = events[plan.steps.length]
        expect(plan.complete).toBe(next === undefined)
        if (next !== undefined) expect(renewed.has(String(next.sentTo))).toBe(true)
      }),
    )
  })
})
