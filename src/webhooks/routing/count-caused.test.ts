import { expect, it } from 'vitest'
import { countCaused } from './count-caused.ts'
import type { Subscriber } from './planning/plan-round.ts'

const recipientsOf = (count: number): Subscriber[] =>
  Array.from({ length: count }, (_, index) => ({
    orgId: 'org',
    id: String(index),
    siteId: null,
    singleEvent: true,
    filter: null,
    byDevice: false,
  }))

const eventOf = (adminId: string | null, recipients: number, topic = 'audits') => ({
  orgId: 'org',
  topic,
  json: JSON.stringify({ admin_id: adminId }),
  recipients: recipientsOf(recipients),
})

it('adds up the messages of the changes of each account', () => {
  const counts = countCaused([eventOf('one', 100), eventOf('other', 50), eventOf('one', 10), eventOf(null, 20)])
  expect([...counts]).toEqual([
    ['one', 110],
    ['other', 50],
    ['org', 20],
  ])
})

it('counts neither a few messages nor events without a cause', () => {
  expect([...countCaused([eventOf('one', 7), eventOf('one', 100, 'device-events')])]).toEqual([])
})
