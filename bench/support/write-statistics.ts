import type pg from 'pg'

/** Has the connections report what they have written, which they do at most once per second. They are idle now. */
export async function flushStatistics(pool: pg.Pool): Promise<void> {
  const idle = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
  await Promise.all(idle.map((client) => client.query('select pg_stat_force_next_flush()')))
  for (const client of idle) client.release()
}

export interface Written {
  readonly walBytes: number
  /** The number of row versions. */
  readonly rows: number
}

/** Returns what has been written so far. */
export async function readWritten(pool: pg.Pool): Promise<Written> {
  await flushStatistics(pool)
  const { rows } = await pool.query<{ wal: string; rows: string }>(`
    select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal,
      (select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables) as rows`)
  return { walBytes: Number(rows[0]?.wal), rows: Number(rows[0]?.rows) }
}
