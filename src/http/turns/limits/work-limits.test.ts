import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createWorkLimits } from './work-limits.ts'

function setUp() {
  let nowMs = 0
  const limits = createWorkLimits({ requestsPerAccount: 100, firstMs: 1000, now: () => nowMs })
  const begun: string[] = []
  return {
    begun,
    pass: (ms: number) => (nowMs += ms),
    enter: async (name: string) => {
      const request = new IncomingMessage(new Socket())
      request.method = 'GET'
      const response = new ServerResponse(request)
      const entered = limits.enter('account', { request, response, kind: 'GET /things' }, () => undefined)
      void entered.then(() => begun.push(name))
      await setImmediate()
      return async (statusCode: number, bytes = 100) => {
        response.statusCode = statusCode
        limits.weighAnswer(response, bytes)
        response.emit('close')
        await setImmediate()
        await setImmediate()
      }
    },
  }
}

it('takes the next request for the first one of its kind if that one was refused', async () => {
  const { begun, enter } = setUp()
  const answerFirst = await enter('first')
  const answerSecond = await enter('second')
  for (const name of ['third', 'fourth']) await enter(name)
  await answerFirst(404)
  expect(begun).toEqual(['first', 'second'])
  await answerSecond(200)
  expect(begun).toEqual(['first', 'second', 'third', 'fourth'])
})

it('lets no request wait for a series of refused ones', async () => {
  const { begun, enter, pass } = setUp()
  const answerFirst = await enter('first')
  for (const name of ['second', 'third', 'fourth']) await enter(name)
  pass(1000)
  await answerFirst(404)
  expect(begun).toEqual(['first', 'second', 'third', 'fourth'])
})

it('expects answers as large as the largest of the last ten minutes', async () => {
  const { begun, pass, enter } = setUp()
  const answer = async (name: string, bytes: number): Promise<void> => (await enter(name))(200, bytes)
  await answer('large', 3_000_000)
  await answer('small', 100)
  begun.length = 0
  const answerFirst = await enter('first')
  const answerSecond = await enter('second')
  expect(begun).toEqual(['first'])
  await answerFirst(200)
  expect(begun).toEqual(['first', 'second'])
  await answerSecond(200)
  pass(10 * 60_000)
  await answer('later', 100)
  begun.length = 0
  for (const name of ['third', 'fourth', 'fifth']) await enter(name)
  expect(begun).toEqual(['third', 'fourth', 'fifth'])
})
