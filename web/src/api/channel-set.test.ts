import { expect, it } from 'vitest'
import { createChannelSet } from './channel-set.ts'
import type { LiveStream } from './stream.ts'

it('subscribes and unsubscribes only where the channels differ', () => {
  const calls: string[] = []
  const stream: LiveStream = {
    setPaused() {},
    subscribe(channel) {
      calls.push(`begin ${channel}`)
      return () => calls.push(`end ${channel}`)
    },
  }
  const set = createChannelSet(stream, { onData: () => {}, onGap: () => {} })
  set.follow(['a', 'b'])
  set.follow(['b', 'c'])
  set.follow(['b', 'c'])
  set.stop()
  expect(calls).toEqual(['begin a', 'begin b', 'begin c', 'end a', 'end b', 'end c'])
})
