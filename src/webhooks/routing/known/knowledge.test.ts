import { expect, it } from 'vitest'
import { createKnowledge, passOn } from './knowledge.ts'
import { createKnownEvents } from './known-events.ts'
import { createSendNow } from '../send-now.ts'

const place = { orgId: 'a', topic: 'audits' }
const waiting = (id: string) => ({ ...place, id, siteId: null, bytes: 2, json: '{}', routedTo: null, sentTo: null })

it('knows no event any more that it has passed on, whether the round knew it or it was announced since', () => {
  const known = createKnownEvents(1000)
  const sendNow = createSendNow({
    direct: { accept: () => true, roomForBacklog: () => 256, awaitRoom: () => undefined },
    known,
    isReady: () => true,
    onReturn: () => undefined,
    onRoom: () => undefined,
    nowMs: () => 0,
  })
  known.announce(['1'], [waiting('1')])
  known.accept()
  known.announce(['2', '3'], [waiting('2'), waiting('3')])
  const events = [waiting('1'), waiting('2')]
  const webhook = { orgId: 'a', id: 'w', siteId: null, singleEvent: true, filter: null, byDevice: false }
  const { passedIds, left } = passOn(createKnowledge({ known, sendNow }), [{ events, subscribers: [webhook] }])
  expect([passedIds, left, sendNow.ids()]).toEqual([['1', '2'], [], ['1', '2']])
  known.accept()
  // Otherwise it would be read once more, and passed on again if its result was written meanwhile.
  expect(known.ids()).toEqual(['3'])
})
