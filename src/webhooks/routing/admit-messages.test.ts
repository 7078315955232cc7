import { expect, it } from 'vitest'
import fc from 'fast-check'
import type { OrgRoom } from '../limits/plan-org-room.ts'
import { admitMessages } from './admit-messages.ts'
import type { PlannedMessage } from './planning/plan-messages.ts'

const orgs: Record<string, OrgRoom> = { a: { shared: 5, perWebhook: 2 }, b: { shared: 0, perWebhook: 3 } }
const planned = fc
  .array(fc.constantFrom('a1', 'a2', 'b1', 'b2', 'c1'), { maxLength: 30 })
  .map((webhookIds) => webhookIds.map((webhookId, index) => messageOf(webhookId, index)))

function messageOf(webhookId: string, index: number): PlannedMessage {
  const body = Buffer.from('{}')
  return {
    orgId: webhookId.slice(0, 1),
    id: String(index),
    webhookId,
    topic: 'audits',
    body,
    eventCount: 1,
    orderKey: null,
  }
}

it('gives the first messages of an organization its shared room, and of each webhook as many more as it keeps', () => {
  fc.assert(
    fc.property(planned, (all) => {
      const { messages, dropped, rooms } = admitMessages(all, (orgId) => orgs[orgId])
      expect([...messages, ...dropped].toSorted((a, b) => Number(a.id) - Number(b.id))).toEqual(all)
      for (const [webhookId, { shared, perWebhook }] of rooms) {
        const orgId = webhookId.slice(0, 1)
        const ofOrg = all.filter((message) => message.orgId === orgId)
        const isOf = (message: PlannedMessage): boolean => message.webhookId === webhookId
        expect(shared).toBe(ofOrg.slice(0, orgs[orgId]?.shared ?? 0).filter(isOf).length)
        expect(messages.filter(isOf)).toEqual(all.filter(isOf).slice(0, shared + perWebhook))
      }
      expect(new Set(rooms.keys())).toEqual(new Set(all.map(({ webhookId }) => webhookId)))
    }),
  )
})
