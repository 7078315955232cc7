import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Admission, type Turn, createAdmission } from './admission.ts'
import type { Slot } from './request-slots.ts'

const caps = {
  fresh: { total: 8, perOrg: 4 },
  late: { total: 4, perOrg: 3 },
  slow: { total: 3, perOrg: 2 },
  lateMs: 10,
  slowMs: 100,
  fastBytes: { total: 1000, perOrg: 400 },
  slowBytes: { total: 100, perOrg: 60 },
}

let nowMs = 0
let vacancies = 0
let admission: Admission
beforeEach(() => {
  nowMs = 0
  vacancies = 0
  admission = createAdmission({ caps, nowMs: () => nowMs, onVacancy: () => (vacancies += 1) })
})

const open = (webhookId: string, orgId = 'a', bytes = 10): Turn =>
  admission.open({ orgId, webhookId, bytes, retry: () => {} })

function startOne(webhookId: string, orgId = 'a'): Slot {
  const slot = open(webhookId, orgId).start()
  if (slot === null) throw new Error('no slot')
  return slot
}

function age(ms: number): void {
  nowMs += ms
  admission.age(nowMs)
}

const freeFresh = () => admission.vacancy('fast').lanes
const freeSlow = () => admission.vacancy('slow').lanes

describe('createAdmission', () => {
  it('limits an organization to its share of fresh slots', () => {
    const turn = open('w')
    expect([1, 2, 3, 4, 5].map(() => turn.start() !== null)).toEqual([true, true, true, true, false])
    expect(admission.vacancy('fast')).toMatchObject({ lanes: 4, busyOrgIds: ['a'] })
    expect(admission.vacancy('fast').lanesOf('b')).toBe(4)
  })

  it.each(['fast', 'slow'] as const)('gives an organization its first %s slot after a second', (pace) => {
    const ofPace = pace === 'slow' ? caps : { ...caps, lateMs: 1e6, slowMs: 1e6 }
    admission = createAdmission({ caps: ofPace, nowMs: () => nowMs, onVacancy: () => {} })
    const [first, second, waiting] = [open('a1'), open('b1', 'b'), open('c1', 'c')]
    const former = [first, second, waiting].map((turn) => turn.start())
    age(100)
    for (const slot of former) slot?.end()
    const slots = Array.from({ length: 4 }, () => [first.start(), second.start()]).flat()
    for (const ms of [0, 1000]) {
      age(ms)
      expect(waiting.start()).toBeNull()
    }
    age(50)
    slots[0]?.end()
    expect(first.start()).toBeNull()
    expect(waiting.start()).not.toBeNull()
  })

  it('admits a lane of each organization without a waiting one once per second while organizations are full', () => {
    admission = createAdmission({
      caps: { ...caps, lateMs: 1e6, slowMs: 1e6 },
      nowMs: () => nowMs,
      onVacancy: () => {},
    })
    const [first, second, waiting] = [open('a1'), open('b1', 'b'), open('c1', 'c')]
    const slots = Array.from({ length: 4 }, () => [first.start(), second.start()]).flat()
    expect(waiting.start()).toBeNull()
    expect(admission.vacancy('fast')).toMatchObject({ lanes: 0, busyOrgIds: ['a', 'b'] })
    nowMs = 1000
    const { lanes, lanesOf, busyOrgIds } = admission.vacancy('fast')
    expect([lanes, lanesOf('d'), lanesOf('a'), busyOrgIds]).toEqual([32, 1, 1, ['c']])
    expect(freeFresh()).toBe(0)
    slots[0]?.end()
    nowMs = 1999
    expect(admission.vacancy('fast')).toMatchObject({ lanes: 1, busyOrgIds: ['b'] })
    nowMs = 2000
    expect(admission.vacancy('fast')).toMatchObject({ lanes: 32, busyOrgIds: ['c'] })
    slots[1]?.end()
    nowMs = 3000
    expect(admission.vacancy('fast')).toMatchObject({ lanes: 2, busyOrgIds: [] })
  })

  it('frees the fresh slot of a late request, and reports whether slots were used up', () => {
    for (const [index, org] of ['a', 'b'].entries())
      for (let count = 0; count < 4; count += 1) startOne(`${index}${count}`, org)
    expect(freeFresh()).toBe(0)
    age(9)
    expect({ free: freeFresh(), vacancies }).toEqual({ free: 0, vacancies: 0 })
    age(1)
    // The late slots are limited too, in total and per organization.
    expect({ free: freeFresh(), vacancies }).toEqual({ free: 4, vacancies: 1 })
    expect(admission.vacancy('fast').lanesOf('a')).toBe(3)
    expect(admission.vacancy('fast').lanesOf('b')).toBe(1)
  })

  it('moves slow requests to the slow slots immediately, and cuts those that find none', () => {
    const slots = [startOne('a1'), startOne('a2'), startOne('a3'), startOne('b1', 'b'), startOne('b2', 'b')]
    age(100)
    // At most two per organization and three in total.
    expect(slots.map(({ signal }) => signal.aborted)).toEqual([false, false, true, false, true])
    expect(freeSlow()).toBe(0)
    for (const slot of slots) slot.end()
    expect({ fresh: freeFresh(), slow: freeSlow() }).toEqual({ fresh: 8, slow: 3 })
  })

  it('makes slow lanes use slow slots only, until a request is answered in time', () => {
    const turn = open('w')
    const first = turn.start()
    age(100)
    expect(admission.vacancy('slow')).toMatchObject({ onlyWebhookIds: ['w'], exceptWebhookIds: ['w'] })
    expect(admission.vacancy('fast').exceptWebhookIds).toContain('w')
    const second = turn.start()
    expect({ fresh: freeFresh(), slow: freeSlow() }).toEqual({ fresh: 8, slow: 1 })
    nowMs += 5
    second?.end()
    // The first one still hangs.
    expect(admission.vacancy('slow').onlyWebhookIds).toEqual(['w'])
    first?.end()
    turn.start()?.end()
    expect(admission.vacancy('slow').onlyWebhookIds).toEqual([])
  })

  it('keeps a lane slow after its request was cut', () => {
    const slots = ['1', '2', '3'].map((webhookId) => startOne(webhookId))
    age(100)
    expect(slots[2]?.signal.aborted).toBe(true)
    for (const slot of slots) slot.end()
    expect(admission.vacancy('slow').onlyWebhookIds).toContain('3')
  })

  it('counts the bytes of claimed messages, separately for slow lanes', () => {
    const large = open('large', 'a', 70)
    const small = open('small', 'a', 50)
    const [first, second] = [large.start(), small.start()]
    expect(admission.vacancy('fast').bytes).toBe(880)
    age(100)
    // The large lane does not fit into the bytes for slow lanes.
    expect([first?.signal.aborted, second?.signal.aborted]).toEqual([true, false])
    expect([admission.vacancy('fast').bytes, admission.vacancy('slow').bytes]).toEqual([930, 50])
    first?.end()
    second?.end()
    large.end()
    small.end()
    expect([admission.vacancy('fast').bytes, admission.vacancy('slow').bytes]).toEqual([1000, 100])
  })

  it('counts the lanes of an organization that have messages, and not those that are idle', () => {
    const [busy, idle] = [open('busy'), open('idle')]
    open('of another', 'b')
    idle.subtract(10)
    expect(admission.vacancy('fast')).toMatchObject({
      held: [
        { orgId: 'a', lanes: 1 },
        { orgId: 'b', lanes: 1 },
      ],
    })
    expect(admission.vacancy('fast').exceptWebhookIds).toContain('idle')
    idle.add(1)
    expect(admission.vacancy('fast').held).toContainEqual({ orgId: 'a', lanes: 2 })
    busy.end()
    expect(admission.vacancy('fast').held).toContainEqual({ orgId: 'a', lanes: 1 })
  })

  it('cuts everything at the stop and starts no more requests', () => {
    const turn = open('w')
    const slot = turn.start()
    admission.stop()
    expect(slot?.signal.aborted).toBe(true)
    expect(turn.start()).toBeNull()
  })

  it('releases all resources, whatever happened', () => {
    const step = fc.record({
      what: fc.constantFrom('start', 'end', 'age'),
      orgId: fc.constantFrom('a', 'b', 'c', 'd'),
      webhook: fc.integer({ min: 0, max: 3 }),
      ms: fc.integer({ min: 0, max: 120 }),
      bytes: fc.integer({ min: 0, max: 60 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        admission = createAdmission({ caps, nowMs: () => nowMs, onVacancy: () => {} })
        const turns = new Map<string, Turn>()
        const slots: Slot[] = []
        for (const { what, orgId, webhook, ms, bytes } of steps) {
          if (what === 'age') age(ms)
          else if (what === 'end') slots.shift()?.end()
          else {
            const id = `${orgId}${webhook}`
            const turn = turns.get(id) ?? open(id, orgId, bytes)
            turns.set(id, turn)
            const slot = turn.start()
            if (slot !== null) slots.push(slot)
          }
          const most = caps.fresh.total + caps.late.total + caps.slow.total
          expect(slots.filter(({ signal }) => !signal.aborted).length).toBeLessThanOrEqual(most)
        }
        for (const slot of slots) slot.end()
        for (const turn of turns.values()) turn.end()
        expect(admission.vacancy('fast')).toMatchObject({ lanes: 8, bytes: 1000, busyOrgIds: [] })
        expect(admission.vacancy('slow')).toMatchObject({ lanes: 3, bytes: 100, busyOrgIds: [] })
      }),
    )
  })
})
