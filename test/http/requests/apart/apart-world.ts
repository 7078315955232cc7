import { sql } from 'kysely'
import { expect, onTestFinished } from 'vitest'
import type { Caller } from '../../../../src/access/authorize.ts'
import { type ApartProcess, createApartProcess } from '../../../../src/app/apart/start-apart-process.ts'
import { builtProgram } from '../../../support/servers/built-program.ts'
import { type TestContext, type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'

/** A server whose expensive requests a process runs. No time passes for its turns: it forgets neither accounts nor what they used. */
export interface World extends TestServer {
  readonly apart: ApartProcess
  /** The operations that the process has run. */
  readonly ran: string[]
  /** The caller of the last of them. */
  readonly lastCaller: () => Caller
  readonly neighbor: TestOrg
  /** Makes the organization not alone from then on. */
  readonly accompany: () => Promise<void>
}

export async function startWorld({ idleMs, dataDir }: { idleMs?: number; dataDir?: string } = {}): Promise<World> {
  const program = await builtProgram('apart-process')
  const ran: string[] = []
  let started: ApartProcess | undefined
  let caller: Caller | undefined
  const create = (context: TestContext): ApartProcess =>
    createApartProcess(context.ctx, {
      connection: { ...context.database.connection, max: 4 },
      lowersBackends: false,
      dataDir: dataDir ?? context.dataDir,
      logLevel: 'silent',
      readTime: context.readTime,
      logOutput: { write: () => undefined },
      program,
      ...(idleMs !== undefined && { idleMs }),
    })
  const server = await startTestServer(undefined, {}, null, {
    clocks: { now: () => 0, cpuMs: () => 0, busyMs: () => 0 },
    apart(context) {
      const created = create(context)
      started = created
      return {
        operations: created.operations,
        run(request, assertWanted) {
          ran.push(request.operation)
          caller = request.caller
          return created.run(request, assertWanted)
        },
      }
    },
  })
  if (started === undefined) throw new Error('unreachable: the server has asked for the process')
  const apart: ApartProcess = started
  onTestFinished(async () => {
    await apart.stop()
    await server.close()
  })
  const neighbor = await server.addOrg('Neighbor')
  const accompany = async (): Promise<void> => {
    expect((await server.call('GET', '/self', { as: neighbor })).status).toBe(200)
  }
  const lastCaller = (): Caller => {
    if (caller === undefined) throw new Error('The process has run no operation')
    return caller
  }
  return { ...server, apart, ran, lastCaller, neighbor, accompany }
}

export const settingOf = ({ org }: World): string => `/orgs/${org.orgId}/setting`
export const LARGE = 'x'.repeat(200_000)

/** Returns how many statements wait for a lock, or sleep. */
export async function countWaiting({ ctx }: World, type: 'Lock' | 'Timeout'): Promise<number> {
  const { rows } = await sql<{ waiting: number }>`
    select count(*)::integer as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = ${type}
  `.execute(ctx.db)
  return rows[0]?.waiting ?? 0
}
