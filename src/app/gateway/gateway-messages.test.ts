import { expect, it } from 'vitest'
import { isQueuedEvent } from '../../events/store.ts'
import { createWakes } from '../../platform/database/wakes.ts'
import { createKnownEvents } from '../../webhooks/routing/known/known-events.ts'
import { type FromGateway, wakeMessage } from './gateway-messages.ts'

it('passes organizations and topics of events to the router, so that none waits for the backlog of another one', () => {
  const [gateway, main] = [createWakes(), createWakes()]
  const known = createKnownEvents(10_000)
  main.on('outbox', (ids, rows) => known.announce(ids, rows.filter(isQueuedEvent)))
  const peer = main.connect(() => {})
  gateway.connect((...wake) => {
    const message: FromGateway = structuredClone(wakeMessage(...wake))
    peer.receive(message.name, message.ids, message.rows)
  })
  const event = (id: string, orgId: string) => ({ id, orgId, topic: 'device-updowns', webhookId: 'w', json: '{}' })
  const many = Array.from({ length: 3000 }, (_, index) => event(`1 ${index + 1000}`, 'a'))
  gateway.wake(
    'outbox',
    many.map(({ id }) => id),
    many,
  )
  gateway.wake('outbox', ['2'], [event('2', 'b')])
  expect([known.isWaiting('a device-updowns'), known.isWaiting('b device-updowns')]).toEqual([true, true])
  known.accept()
  const ids = known.idsOfRound({ limit: 1000, turn: 1 })
  expect([ids.length, ids.includes('2')]).toEqual([501, true])
})

it('keeps the texts of events in their thread', () => {
  const event = { id: '1', orgId: 'a', topic: 'audits', webhookId: 'w', json: '{}' }
  expect(wakeMessage('outbox', ['1', '2'], [event, { id: '2' }])).toEqual({
    kind: 'wake',
    name: 'outbox',
    ids: ['1', '2'],
    rows: [{ id: '1', orgId: 'a', topic: 'audits', webhookId: null, json: null }],
  })
})
