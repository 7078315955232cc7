import { beforeEach, expect, it } from 'vitest'
import { type Admission, createAdmission } from './admission.ts'
import { defaultCaps } from './caps.ts'
import type { Slot } from './request-slots.ts'

const MIB = 1024 * 1024

let nowMs = 0
let admission: Admission
beforeEach(() => {
  nowMs = 0
  admission = createAdmission({ caps: defaultCaps, nowMs: () => nowMs, onVacancy: () => {} })
})

const open = (webhookId: string, orgId: string, bytes = 1000) =>
  admission.open({ orgId, webhookId, bytes, retry: () => {} })

/** Starts a request for as many webhooks, as far as there are slots. */
function startHanging(count: number, orgOf: (place: number) => string): Slot[] {
  return Array.from({ length: count }, (_, place) => open(`${orgOf(place)} ${place}`, orgOf(place)).start()).filter(
    (slot) => slot !== null,
  )
}

/** Lets time pass as a process does that is busy, and ends the requests that are cut. @returns Those that are left. */
function ageTo(ms: number, slots: readonly Slot[]): Slot[] {
  nowMs = ms
  admission.age(nowMs)
  const [cut, left] = [slots.filter(({ signal }) => signal.aborted), slots.filter(({ signal }) => !signal.aborted)]
  for (const slot of cut) slot.end()
  admission.age(nowMs)
  return left
}

it('frees slots a quarter of a second after hundreds of receivers have begun to hang, and again after two seconds', () => {
  const healthy = open('healthy', 'healthy')
  const first = startHanging(320, (place) => `org ${place}`)
  expect(first).toHaveLength(256)
  expect(healthy.start()).toBeNull()
  ageTo(250, first)
  healthy.start()?.end()
  const second = startHanging(320, (place) => `other ${place}`)
  expect(second).toHaveLength(256)
  expect(healthy.start()).toBeNull()
  ageTo(2000, [...first, ...second])
  expect(healthy.start()).not.toBeNull()
})

it('leaves others their slots while all receivers of an organization hang', () => {
  const hanging = startHanging(1000, () => 'hangs')
  expect(hanging).toHaveLength(192)
  const more = [...ageTo(250, hanging), ...startHanging(1000, () => 'hangs')]
  const left = ageTo(2250, ageTo(2000, more))
  // These are a quarter of the slow slots.
  expect(left).toHaveLength(16)
  expect(startHanging(1000, (place) => `org ${place}`)).toHaveLength(256)
})

it('limits the claimed messages of an organization to 16 MiB', () => {
  const turn = open('large', 'org', 12 * MIB)
  expect([turn.add(4 * MIB), turn.add(1)]).toEqual([true, false])
})
