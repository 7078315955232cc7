import type pg from 'pg'

/** Has the connections report what they have written, which they do at most once per second. They are idle now. */
export async function flushStatistics(pools: readonly pg.Pool[]): Promise<void> {
  const clients = pools.flatMap((pool) => Array.from({ length: pool.totalCount }, () => pool.connect()))
  const idle = await Promise.all(clients)
  await Promise.all(idle.map((client) => client.query('select pg_stat_force_next_flush()')))
  for (const client of idle) client.release()
}

export interface Written {
  readonly walBytes: number
  /** Copies of whole pages in the WAL, which follow each checkpoint. */
  readonly fullPages: number
  /** The number of row versions. */
  readonly rows: number
}

/**
 * Returns what has been written so far.
 * @param pools Connections of this process that may have written; others report by themselves, within ten seconds.
 */
export async function readWritten(pool: pg.Pool, pools: readonly pg.Pool[] = [pool]): Promise<Written> {
  await flushStatistics(pools)
  const { rows } = await pool.query<{ wal: string; pages: string; rows: string }>(`
    select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal, (select wal_fpi from pg_stat_wal) as pages,
      (select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables) as rows`)
  return { walBytes: Number(rows[0]?.wal), fullPages: Number(rows[0]?.pages), rows: Number(rows[0]?.rows) }
}

/** Returns how many rows and entries of indexes have been read so far. @param pools The connections that may have read. */
export async function countRead(pool: pg.Pool, pools: readonly pg.Pool[]): Promise<number> {
  await flushStatistics(pools)
  const { rows } = await pool.query<{ read: string }>(`
    select (select sum(seq_tup_read) from pg_stat_user_tables) + (select sum(idx_tup_read) from pg_stat_user_indexes) as read`)
  return Number(rows[0]?.read)
}
