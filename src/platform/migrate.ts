import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { AppError } from './errors.ts'

export const migrationsDir = fileURLToPath(new URL('../../migrations/', import.meta.url))

/** Any fixed number: two servers that start together migrate one after the other. */
const LOCK = 7461938

/**
 * Brings the database up to date: runs every file of `dir` that it has not seen, in order of name,
 * each in a transaction of its own with the record of it.
 *
 * @returns The names that ran; empty when there was nothing to do.
 * @throws AppError `unavailable` when a migration fails, and when the database knows one that `dir` lacks: it belongs
 *   to a newer release.
 */
export async function migrate(connection: pg.ClientConfig, dir: string = migrationsDir): Promise<string[]> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK])
    await client.query(
      'create table if not exists migration (name text primary key, applied_at timestamptz not null default now())',
    )
    const known = await client.query<{ name: string }>('select name from migration')
    const applied = new Set(known.rows.map((row) => row.name))
    const files = (await readdir(dir)).filter((name) => name.endsWith('.sql')).sort()
    const unknown = [...applied].filter((name) => !files.includes(name))
    if (unknown.length > 0)
      throw new AppError('unavailable', `the database is of a newer release: it has ${unknown.join(', ')}`)
    const due = files.filter((name) => !applied.has(name))
    for (const name of due) await apply(client, name, await readFile(join(dir, name), 'utf8'))
    return due
  } finally {
    await client.end()
  }
}

async function apply(client: pg.Client, name: string, text: string): Promise<void> {
  await client.query('begin')
  try {
    await client.query(text)
    await client.query('insert into migration (name) values ($1)', [name])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    const why = error instanceof Error ? error.message : String(error)
    throw new AppError('unavailable', `migration ${name} failed: ${why}`)
  }
}
