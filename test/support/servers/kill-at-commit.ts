import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { bundlePrograms } from '../../../scripts/bundle-programs.ts'
import type { Db } from '../../../src/platform/database/db.ts'
import type { TestConnection } from '../database/database.ts'
import { waitUntil } from '../wait-until.ts'

/** The change of a process to an upgrade when it is killed; `round`: the engine visits all of them, `wait`: the end of a gate's time. */
export type Change =
  | 'pause'
  | 'resume'
  | 'approve'
  | 'begin'
  | 'retry'
  | 'exclude'
  | 'cancel'
  | 'end'
  | 'supersede'
  | 'include'
  | 'wait'
  | 'round'

export interface Subject {
  readonly orgId: string
  /** The id of an upgrade. */
  readonly id: string
}

export interface Orders {
  readonly connection: TestConnection
  /** The clock of the process, which stands still. */
  readonly nowMs: number
  readonly change: Change
  readonly subject: Subject
  /** The process is killed at the commit of the first transaction that writes to this table. */
  readonly table: string
  readonly moment: 'before' | 'after'
}

/** Processes that are killed while they change an upgrade. */
export interface KilledProcesses {
  /** Resolves when the process is dead and the database has noticed. */
  kill(db: Db, orders: Orders): Promise<void>
  close(): Promise<void>
}

const PACKAGES = fileURLToPath(new URL('../../../node_modules', import.meta.url))
/** Processes that start while a test prepares its upgrade. */
const SPARE = 2

/** Bundles the program, which takes the processor time of two starts from its sources, and starts the first processes. */
export async function prepareKills(): Promise<KilledProcesses> {
  const folder = await mkdtemp(join(tmpdir(), 'killed-'))
  await symlink(PACKAGES, join(folder, 'node_modules'))
  await bundlePrograms(['test/support/servers/killed-change.ts'], folder)
  const start = (): ChildProcess => fork(join(folder, 'killed-change.mjs'), { execArgv: [] })
  const spare = Array.from({ length: SPARE }, start)
  return {
    async kill(db, orders) {
      const child = spare.shift() ?? start()
      spare.push(start())
      const ended = once(child, 'exit')
      child.send(orders)
      const [code, signal] = await ended
      if (signal !== 'SIGKILL') throw new Error(`${orders.change} ended with ${code} before its commit`)
      await waitUntil('the database has noticed', async () => {
        const { rows } = await sql`select from pg_stat_activity
          where datname = current_database() and application_name = 'killed'`.execute(db)
        return rows.length === 0
      })
    },
    async close() {
      const ends = spare.map(async (child) => {
        const ended = once(child, 'exit')
        child.kill('SIGKILL')
        await ended
      })
      await Promise.all(ends)
      await rm(folder, { recursive: true })
    },
  }
}
