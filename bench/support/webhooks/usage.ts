import { sql } from 'kysely'
import { cpuSecondsWithChildren } from '../process-usage.ts'
import type { Child } from '../child.ts'
import type { Engine } from './engine.ts'

/** The usage since the start, with processor times in seconds. */
export interface Usage {
  readonly engine: number
  readonly postgres: number
  readonly receiver: number
  readonly commits: number
  readonly statements: number
  readonly walBytes: number
}

export async function usageOf({ ctx, postgresPid, statements }: Engine, receiver: Child): Promise<Usage> {
  const { user, system } = process.cpuUsage()
  const { rows } = await sql<{ commits: string; wal: string }>`
    select pg_stat_force_next_flush(), xact_commit::text as commits, (pg_current_wal_insert_lsn() - '0/0')::text as wal
    from pg_stat_database where datname = current_database()
  `.execute(ctx.db)
  return {
    engine: (user + system) / 1e6,
    postgres: await cpuSecondsWithChildren(postgresPid),
    receiver: await cpuSecondsWithChildren(receiver.pid),
    commits: Number(rows[0]?.commits),
    statements: statements(),
    walBytes: Number(rows[0]?.wal),
  }
}

/** Presents what was used between two readings, divided by the number of deliveries. */
export function presentUsage(before: Usage, after: Usage, deliveries: number): Record<string, unknown> {
  const each = (part: keyof Usage): number => (after[part] - before[part]) / deliveries
  return {
    // Other work on the machine changes these figures less than rates and times.
    cpu_s_per_1000: round((each('engine') + each('postgres') + each('receiver')) * 1000),
    cpu_s_per_1000_of: {
      engine: round(each('engine') * 1000),
      postgres: round(each('postgres') * 1000),
      receiver: round(each('receiver') * 1000),
    },
    statements_each: round(each('statements')),
    commits_each: round(each('commits')),
    wal_bytes_each: Math.round(each('walBytes')),
  }
}

export function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
