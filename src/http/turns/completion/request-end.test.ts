import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type Outcome, noteCheck, noteOperation, onceOver } from './request-end.ts'

function setUp() {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const state = { over: 0, outcomes: [] as Outcome[] }
  const prevent = onceOver(response, (outcome) => {
    state.over += 1
    state.outcomes.push(outcome)
  })
  return { response, state, prevent }
}

it('is over when the connection closes, if no operation has begun', () => {
  const { response, state } = setUp()
  response.emit('close')
  response.emit('close')
  expect(state.over).toBe(1)
})

it('is over when the client has left and the operation has ended, or failed', async () => {
  for (const fails of [false, true]) {
    const { response, state } = setUp()
    const operation = Promise.withResolvers<void>()
    noteOperation(response, operation.promise)
    response.emit('close')
    await setImmediate()
    expect(state.over).toBe(0)
    if (fails) operation.reject(new Error('of the operation'))
    else operation.resolve()
    await setImmediate()
    expect(state.outcomes).toEqual([fails ? 'refused' : 'whole'])
  }
})

it('is over when the answer was sent after the operation', async () => {
  const { response, state } = setUp()
  noteOperation(response, Promise.resolve())
  await setImmediate()
  expect(state.over).toBe(0)
  response.emit('close')
  await setImmediate()
  expect(state.over).toBe(1)
})

it('calls nothing after it was prevented, also while the operation continues', async () => {
  const { response, state, prevent } = setUp()
  const operation = Promise.withResolvers<void>()
  noteOperation(response, operation.promise)
  response.emit('close')
  prevent()
  operation.resolve()
  await setImmediate()
  expect(state.over).toBe(0)
})

it('is cut if the client has left before the operation has begun, and over when its credentials have been checked', async () => {
  const { response, state } = setUp()
  const check = Promise.withResolvers<void>()
  noteCheck(response, check.promise)
  response.emit('close')
  await setImmediate()
  expect(state.over).toBe(0)
  check.resolve()
  await setImmediate()
  expect(state.outcomes).toEqual(['cut'])
})
