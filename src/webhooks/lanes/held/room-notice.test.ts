import { expect, it } from 'vitest'
import { createRoomNotice } from './room-notice.ts'

it('reports once that there is enough room', () => {
  const [calls, lane] = [[] as string[], { room: 3 }]
  const notice = createRoomNotice(() => lane.room)
  notice.check()
  notice.request(4, () => calls.push('enough'))
  notice.check()
  expect(calls).toEqual([])
  lane.room = 4
  notice.check()
  notice.check()
  expect(calls).toEqual(['enough'])
})

it('reports a lane whose events have to be routed, because waiting for it would be in vain', () => {
  let calls = 0
  const notice = createRoomNotice(() => null)
  notice.request(1, () => (calls += 1))
  notice.check()
  expect(calls).toBe(1)
})

it('forgets a request when another one comes, also one that the report makes', () => {
  const [calls, lane] = [[] as string[], { room: 0 }]
  const notice = createRoomNotice(() => lane.room)
  notice.request(1, () => calls.push('first'))
  notice.request(2, () => {
    calls.push('second')
    notice.request(3, () => calls.push('third'))
  })
  lane.room = 2
  notice.check()
  notice.check()
  expect(calls).toEqual(['second'])
  lane.room = 3
  notice.check()
  expect(calls).toEqual(['second', 'third'])
})
