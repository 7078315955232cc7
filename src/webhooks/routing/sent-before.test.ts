import { beforeEach, expect, it } from 'vitest'
import { type SentBefore, createSentBefore } from './sent-before.ts'
import type { FoundEvent } from './store.ts'

const known = new Set<string>()
let sent: SentBefore
beforeEach(() => {
  known.clear()
  sent = createSentBefore((id) => known.has(id))
})

function event(id: string, webhookId: string | null): FoundEvent {
  return { id, orgId: 'a', siteId: null, topic: 'audits', bytes: 2, json: '{}', routedTo: null, webhookId }
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, place) => String(1000 + place))

it('names the webhook of an event that a lane has returned, until its result is written', () => {
  known.add('1')
  sent.endFormerRun()
  sent.add('1', 'w')
  expect(sent.webhookOf(event('1', null), null)).toBe('w')
  sent.delete('1')
  expect(sent.webhookOf(event('1', null), null)).toBeNull()
})

it('takes the first 64 events of a webhook for those that the former run may have sent, also when they are found again', () => {
  const asked = (): (string | null)[] => ids(65).map((id) => sent.webhookOf(event(id, 'w'), null))
  expect(asked().filter((webhookId) => webhookId === 'w')).toHaveLength(64)
  expect(asked().indexOf(null)).toBe(64)
})

it('takes the first 320 events of a queue for those that the former run may have passed on', () => {
  const asked = ids(321).map((id) => sent.webhookOf(event(id, null), 'w'))
  expect(asked.indexOf(null)).toBe(320)
})

it('takes neither a known event nor one that is found later for an event of the former run', () => {
  known.add('1')
  expect(sent.webhookOf(event('1', 'w'), 'w')).toBeNull()
  sent.endFormerRun()
  expect(sent.webhookOf(event('2', 'w'), 'w')).toBeNull()
})
