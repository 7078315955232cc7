import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Ordered, createMessageOrder } from './message-order.ts'

interface Message extends Ordered {
  readonly place: number
}

const keys = fc.constantFrom('a', 'b', null)
const script = fc.record({
  order: fc.constantFrom<'webhook' | 'device' | null>('webhook', 'device', null),
  keys: fc.array(keys, { maxLength: 20 }),
  /** The sequence of events: an attempt starts, or the first one in flight ends. */
  steps: fc.array(fc.constantFrom('start', 'deliver', 'fail'), { maxLength: 60 }),
})

it('starts no message before a former one of its key has ended, and holds back no other', () => {
  fc.assert(
    fc.property(script, ({ order, keys: all, steps }) => {
      const queue = createMessageOrder(order)
      const waiting = all.map((orderKey, place): Message => ({ orderKey, place }))
      const inFlight: Message[] = []
      const failed: Message[] = []
      const shareKey = (a: Message, b: Message): boolean => {
        if (order === null) return false
        return order === 'webhook' || (a.orderKey !== null && a.orderKey === b.orderKey)
      }
      for (const step of steps) {
        if (step === 'start') {
          const next = queue.indexOfNext(waiting)
          const open = (message: Message) => ![...inFlight, ...failed].some((other) => shareKey(message, other))
          expect(next).toBe(waiting.findIndex(open))
          const [message] = next === -1 ? [] : waiting.splice(next, 1)
          if (message === undefined) continue
          expect(waiting.some((other) => other.place < message.place && shareKey(message, other))).toBe(false)
          queue.start(message)
          inFlight.push(message)
        } else {
          const message = inFlight.shift()
          if (message === undefined) continue
          queue.end(message, step === 'deliver')
          if (step === 'fail') failed.push(message)
          for (const other of waiting)
            expect(queue.mustWait(other)).toBe(failed.some((former) => shareKey(other, former)))
        }
      }
    }),
  )
})
