import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { Type } from 'typebox'
import type { Context } from '../../../src/platform/context.ts'
import { expect, it, onTestFinished } from 'vitest'
import { nobody, self } from '../../../src/http/at.ts'
import { operation } from '../../../src/http/operation.ts'
import { serveOperations } from '../../../src/http/serve-operations.ts'
import { serveApi } from '../../../src/http/serve-api.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { personOf } from '../../support/person.ts'
import { createTestContext } from '../../support/servers/server.ts'

/** What a request is to do. */
interface Work {
  /** Null: a stranger. */
  readonly account: string | null
  readonly method?: 'GET' | 'POST' | 'PUT'
  /** Milliseconds of the main thread. */
  readonly ms?: number
}

/** Serves operations that use the database and the main thread; callers name their account as their token. */
async function startServer() {
  const context = await createTestContext()
  let [cpuMs, nowMs] = [0, 0]
  const held = new EventEmitter()
  const run = async (ctx: Context, { query: { ms, hold } }: { readonly query: { ms: number; hold: boolean } }) => {
    const { rows } = await sql<{ process: number }>`select pg_backend_pid() as process`.execute(ctx.db)
    cpuMs += ms
    if (hold) await new Promise<void>((resolve) => held.emit('hold', resolve))
    return { process: rows[0]?.process ?? 0 }
  }
  const declared = {
    summary: 'Work',
    tag: 'Accounts' as const,
    query: Type.Object({ ms: Type.Integer(), hold: Type.Boolean() }),
    reply: Type.Object({ process: Type.Integer() }),
    run,
  }
  const operations = (['GET', 'POST', 'PUT'] as const).flatMap((method) =>
    [self('/work'), nobody('/public')].flatMap((at) =>
      operation({ ...declared, id: `${method} ${at.path}`, method, at, locksOnlyItsRecord: method === 'PUT' }),
    ),
  )
  const callers = {
    authenticate: async ({ authorization = '' }: { readonly authorization?: string | undefined }) =>
      personOf(authorization),
    sessionCookie: () => 'sessionid',
    turnMs: 5,
    now: () => nowMs,
    cpuMs: () => cpuMs,
    busyMs: () => 0,
  }
  const http = await createHttpServer({ log: context.ctx.log, tls: null })
  await serveApi(http, callers, [serveOperations(context.ctx, operations)])
  await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  onTestFinished(async () => {
    await http.close()
    await context.close()
  })
  async function request({ account, method = 'GET', ms = 0 }: Work, hold: boolean): Promise<number> {
    const path = account === null ? '/public' : '/work'
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}?ms=${ms}&hold=${hold}`, {
      method,
      headers: account === null ? {} : { authorization: `Token ${account}` },
    })
    expect(answer.status).toBe(200)
    return ((await answer.json()) as { readonly process: number }).process
  }
  const work = (what: Work): Promise<number> => request(what, false)
  return {
    /** Returns the process of the database that has worked for the request. */
    work,
    /** Lets so much time pass that no account counts as present any more. */
    forget: () => (nowMs += 3000),
    /** Uses the main thread for longer than an account may. @returns The processes that have worked for it at first. */
    becomeHeavy: async (account: string | null): Promise<number[]> => {
      const processes: number[] = []
      for (let times = 0; times < 150; times += 1) processes.push(await work({ account, ms: 10 }))
      return processes.slice(0, 30)
    },
    /** Resolves with a function to end the request. */
    hold: async (account: string): Promise<() => Promise<number>> => {
      const isHeld = once(held, 'hold')
      const ended = request({ account }, true)
      const [end] = (await isHeld) as [() => void]
      return () => {
        end()
        return ended
      }
    },
  }
}

it('reads for heavy accounts on a connection of their own, as changes that lock only their record, and does all else on the usual ones', async () => {
  const { work, becomeHeavy } = await startServer()
  const [heavy, light] = [randomUUID(), randomUUID()]
  const usual = new Set([await work({ account: light }), ...(await becomeHeavy(heavy))])
  const own = await work({ account: heavy })
  expect(usual).not.toContain(own)
  expect(await work({ account: heavy })).toBe(own)
  expect(await work({ account: heavy, method: 'PUT' })).toBe(own)
  expect(usual).toContain(await work({ account: heavy, method: 'POST' }))
  expect(usual).toContain(await work({ account: light }))
})

it('serves unknown callers on the usual connections, however many they are', async () => {
  const { work, becomeHeavy } = await startServer()
  const usual = new Set([await work({ account: randomUUID() }), ...(await becomeHeavy(null))])
  for (const method of ['GET', 'POST', 'PUT'] as const) expect(usual).toContain(await work({ account: null, method }))
})

it('lets no heavy account wait for the connection of another one, or for its own', async () => {
  const { work, becomeHeavy, hold, forget } = await startServer()
  const [first, second, third, light] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  const usual = new Set([await work({ account: light }), ...(await becomeHeavy(first))])
  const endFirst = await hold(first)
  const others = [await work({ account: first })]
  forget()
  await work({ account: light })
  await becomeHeavy(second)
  const endSecond = await hold(second)
  forget()
  await work({ account: light })
  await becomeHeavy(third)
  others.push(await work({ account: third }))
  const lent = new Set([await endFirst(), await endSecond()])
  expect([lent.size, lent.isDisjointFrom(usual), lent.isDisjointFrom(new Set(others))]).toEqual([2, true, true])
  expect(lent).toContain(await work({ account: third }))
})
