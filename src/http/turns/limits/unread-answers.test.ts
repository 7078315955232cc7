import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { createUnreadAnswers } from './unread-answers.ts'

function setUp() {
  const unread = createUnreadAnswers(10)
  return {
    unread,
    add: (account: string, bytes: number, socket = new Socket()) => {
      const response = new ServerResponse(new IncomingMessage(socket))
      unread.add(account, response, bytes)
      return { response, socket }
    },
    isRefused: (account: string, bytes: number): boolean => {
      try {
        unread.assertRoom(account, bytes)
        return false
      } catch (error) {
        expect(error).toMatchObject({ code: 'rate_limited' })
        return true
      }
    },
  }
}

it('refuses further answers to the account that has most, and to no other', () => {
  const { add, isRefused } = setUp()
  add('much', 5)
  add('little', 4)
  expect([isRefused('much', 1), isRefused('much', 2)]).toEqual([false, true])
  expect([isRefused('little', 2), isRefused('new', 9)]).toEqual([false, false])
})

it('closes the connections of the account that has most, the oldest first, until there is room', () => {
  const { add } = setUp()
  const [first, second] = [add('much', 3), add('much', 3)]
  const little = add('little', 4)
  const latest = add('new', 3)
  const isClosed = [first, second, little, latest].map(({ socket }) => socket.destroyed)
  expect(isClosed).toEqual([true, false, false, false])
  add('new', 1)
  expect([second, little].map(({ socket }) => socket.destroyed)).toEqual([false, true])
})

it('counts no answer that has been accepted, or whose client has left', () => {
  const { add, isRefused } = setUp()
  const [one, other] = [add('much', 5), add('much', 5)]
  expect(isRefused('much', 1)).toBe(true)
  one.response.emit('finish')
  one.response.emit('close')
  expect(isRefused('much', 5)).toBe(false)
  other.response.emit('close')
  expect(isRefused('much', 11)).toBe(false)
})

it('counts no answer that waits behind another one on a connection that it closes', () => {
  const { add, isRefused } = setUp()
  const { socket } = add('much', 4)
  add('much', 4, socket)
  add('new', 4)
  expect(socket.destroyed).toBe(true)
  add('much', 5)
  expect(isRefused('much', 1)).toBe(false)
  expect(isRefused('much', 2)).toBe(true)
})
