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
      const entered = limits.enter('account', { request, response, route: '/things' }, () => undefined)
      void entered.then(() => begun.push(name))
      await setImmediate()
      return async (statusCode: number) => {
        response.statusCode = statusCode
        limits.weighAnswer(response, 100)
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
