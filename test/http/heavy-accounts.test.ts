import type { AddressInfo } from 'node:net'
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { Type } from 'typebox'
import { expect, it, onTestFinished } from 'vitest'
import { self } from '../../src/http/at.ts'
import { operation } from '../../src/http/operation.ts'
import { serveOperations } from '../../src/http/serve-operations.ts'
import { createHttpServer, serveApi } from '../../src/http/server.ts'
import { personOf } from '../support/person.ts'
import { createTestContext } from '../support/server.ts'
import { waitUntil } from '../support/wait-until.ts'

/** Serves one operation, which uses the database and the main thread; its callers name their account as their token. */
async function startServer() {
  const context = await createTestContext()
  let cpuMs = 0
  let begun = 0
  const http = await createHttpServer({ log: context.ctx.log, tls: null })
  const operations = operation({
    id: 'work',
    summary: 'Work',
    tag: 'Accounts',
    method: 'GET',
    at: self('/work'),
    query: Type.Object({ ms: Type.Integer() }),
    reply: Type.Object({ process: Type.Integer() }),
    run: async (ctx, { query }) => {
      begun += 1
      const { rows } = await sql<{ process: number }>`select pg_backend_pid() as process`.execute(ctx.db)
      cpuMs += query.ms
      return { process: rows[0]?.process ?? 0 }
    },
  })
  const callers = {
    authenticate: async ({ authorization = '' }: { readonly authorization?: string | undefined }) =>
      personOf(authorization),
    sessionCookie: () => 'sessionid',
    now: () => 0,
    cpuMs: () => cpuMs,
    busyMs: () => 0,
  }
  await serveApi(http, callers, [serveOperations(context.ctx, operations)])
  await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  onTestFinished(async () => {
    await http.close()
    await context.close()
  })
  return {
    ctx: context.ctx,
    begun: () => begun,
    work: async (account: string, ms: number): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/work?ms=${ms}`, {
        headers: { authorization: account },
      })
      expect(answer.status).toBe(200)
      return ((await answer.json()) as { readonly process: number }).process
    },
  }
}

it('works for heavy accounts on connections of their own, and for others on the usual ones', async () => {
  const { ctx, begun, work } = await startServer()
  const [heavy, light] = [randomUUID(), randomUUID()]
  const usual = new Set([await work(heavy, 700), await work(light, 0)])
  const process = await work(heavy, 0)
  expect(usual).not.toContain(process)
  expect(await work(heavy, 0)).toBe(process)
  expect(usual).toContain(await work(light, 0))

  // Their connections are held by others of their kind.
  const held = Promise.withResolvers<void>()
  const holders = [0, 1].map(() => ctx.heavyDb.connection().execute(() => held.promise))
  const before = begun()
  const waiting = work(heavy, 0)
  await waitUntil('the heavy request has begun', () => Promise.resolve(begun() === before + 1))
  expect(usual).toContain(await work(light, 0))
  held.resolve()
  await Promise.all([waiting, ...holders])
})
