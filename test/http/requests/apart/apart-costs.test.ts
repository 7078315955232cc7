import { Type } from 'typebox'
import { expect, it, onTestFinished } from 'vitest'
import type { ApartRequest } from '../../../../src/http/apart/messages.ts'
import { createRunApart } from '../../../../src/http/apart/run-apart.ts'
import { self } from '../../../../src/http/at.ts'
import { operation } from '../../../../src/http/operation.ts'
import { personOf } from '../../../support/person.ts'
import { createTestContext } from '../../../support/servers/server.ts'

/** Runs operations that use as many milliseconds as their query says, once all of them have begun. */
async function startRunning(together: number) {
  const context = await createTestContext()
  onTestFinished(() => context.close())
  let [cpuMs, begun] = [0, 0]
  const all = Promise.withResolvers<void>()
  const work = operation({
    id: 'work',
    summary: 'Work',
    method: 'GET',
    tag: 'Accounts',
    at: self('/work'),
    query: Type.Object({ ms: Type.Integer() }),
    reply: Type.Object({}),
    run: async (_ctx, { query: { ms } }) => {
      begun += 1
      if (begun === together) all.resolve()
      await all.promise
      cpuMs += ms
      return {}
    },
  })
  const run = createRunApart(context.ctx, work, { cpuMs: () => cpuMs })
  return async (account: string, ms: number): Promise<number> => {
    const sent: ApartRequest = {
      operation: 'work',
      kind: 'GET /work',
      caller: { principal: personOf(account), srcIp: '127.0.0.1', userAgent: null },
      params: {},
      query: { ms },
      url: '/work',
      body: null,
      isHeavy: true,
    }
    const end = await run(sent)
    expect(end).toHaveProperty('answer')
    return end.cpuMs
  }
}

it('charges no account for first requests of others that run beside its own', async () => {
  const run = await startRunning(4)
  const used = await Promise.all([run('a', 0), run('b', 400), run('c', 0), run('d', 0)])
  expect(used.reduce((sum, ms) => sum + ms)).toBeCloseTo(400)
  // Nothing is known of any of them, so each gets an equal part of what was used until it ended.
  for (const ms of used) expect(ms).toBeLessThanOrEqual(400 / 3 + 1)
  // From then on each account pays for its own.
  expect(await run('a', 5)).toBeCloseTo(5)
  expect(await run('b', 300)).toBeCloseTo(300)
})
