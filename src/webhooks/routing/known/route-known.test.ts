import { expect, it } from 'vitest'
import type { Context } from '../../../platform/context.ts'
import { addMs } from '../../../platform/time/clock.ts'
import { createKnownEvents } from './known-events.ts'
import { createKnowledge } from './knowledge.ts'
import { createOrgRooms } from '../org-rooms.ts'
import { routeKnown } from './route-known.ts'
import type { Round } from '../route-round.ts'
import { createSendNow } from '../send-now.ts'

it('leaves a queue to a search that was not ripe when it was read ahead, and is now', async () => {
  const readAt = new Date('2026-03-01T12:00:00Z')
  const ripeAt = addMs(readAt, 10)
  const place = { orgId: 'a', topic: 'device-events' }
  const known = createKnownEvents(1000)
  const ids = ['b', 'c']
  known.announce(
    ids,
    ids.map((id) => ({ ...place, id })),
  )
  known.accept()
  const found = { queues: [{ ...place, ripeAt, firstId: null }], waiting: [], more: [] }
  const sendNow = createSendNow({
    direct: null,
    known,
    isReady: () => true,
    onReturn: () => undefined,
    onRoom: () => undefined,
    nowMs: () => 0,
  })
  const knowledge = {
    ...createKnowledge({ known, sendNow }),
    isReady: true,
    mustSearch: false,
    mustSearchAll: false,
    fromId: 'z',
    next: { ids, readAt, found: Promise.resolve(found) },
  }
  const now = addMs(readAt, 20)
  const limits = { rooms: createOrgRooms(1000), maxPending: 1000, maxEvents: 1000 }
  const round: Round = { ...limits, now, turn: 1, direct: null, charge: () => undefined, routing: [] }
  // The round reads and writes nothing more.
  const { doneIds, next } = await routeKnown({} as Context, knowledge, round)
  expect(doneIds).toEqual(ids)
  expect(next).toEqual(ripeAt)
  expect(knowledge).toMatchObject({ searchAt: ripeAt, fromId: 'b' })
})
