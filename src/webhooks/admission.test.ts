import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Reservation, createAdmission } from './admission.ts'

const caps = { total: 20, perOrg: 8, slow: 5 }

describe('createAdmission', () => {
  it('keeps every cap at every instant, and gives all room back', () => {
    const step = fc.record({
      end: fc.boolean(),
      orgId: fc.constantFrom('a', 'b', 'c', 'd'),
      webhook: fc.integer({ min: 0, max: 3 }),
      messages: fc.integer({ min: 0, max: 64 }),
      pace: fc.record({ width: fc.constantFrom(1, 2, 4, 8), slow: fc.boolean() }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const admission = createAdmission(caps)
        const open: (Reservation & {
          orgId: string
          webhookId: string
          slow: boolean
          pace: (typeof steps)[number]['pace']
        })[] = []
        const used = (which: (one: (typeof open)[number]) => boolean) =>
          open.filter(which).reduce((sum, { width }) => sum + width, 0)
        for (const { end, orgId, webhook, messages, pace } of steps) {
          const webhookId = `${orgId}${webhook}`
          if (end) {
            const ended = open.shift()
            ended?.end(ended.pace)
          } else if (!open.some((one) => one.webhookId === webhookId)) {
            const { slow, width: most } = admission.paceOf(webhookId)
            const reservation = admission.reserve({ orgId, webhookId, messages })
            expect(reservation.width).toBeLessThanOrEqual(Math.min(most, messages))
            open.push({ ...reservation, orgId, webhookId, slow, pace })
          }
          expect(admission.freeSlots()).toBe(caps.total - used(() => true))
          expect(used(() => true)).toBeLessThanOrEqual(caps.total)
          expect(used(({ slow }) => slow)).toBeLessThanOrEqual(caps.slow)
          for (const org of ['a', 'b', 'c', 'd']) {
            expect(used((one) => one.orgId === org)).toBeLessThanOrEqual(caps.perOrg)
            expect(admission.busyOrgIds().includes(org)).toBe(used((one) => one.orgId === org) === caps.perOrg)
          }
        }
        for (const one of open.splice(0)) one.end(one.pace)
        expect(admission.freeSlots()).toBe(caps.total)
        expect(admission.busyWebhookIds()).toEqual([])
      }),
    )
  })

  it('names slow lanes as busy while their share is used up', () => {
    const admission = createAdmission(caps)
    admission.reserve({ orgId: 'a', webhookId: 'w', messages: 1 }).end({ width: 8, slow: true })
    admission.reserve({ orgId: 'a', webhookId: 'v', messages: 1 }).end({ width: 8, slow: true })
    const { width } = admission.reserve({ orgId: 'a', webhookId: 'w', messages: 64 })
    expect(width).toBe(5)
    expect(admission.busyWebhookIds()).toEqual(['w', 'v'])
    expect(admission.reserve({ orgId: 'b', webhookId: 'v', messages: 64 }).width).toBe(0)
  })
})
