import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { AppError } from '../errors.ts'
import { messageOf } from '../message-of.ts'

export const migrationsDir = fileURLToPath(new URL('../../../migrations/', import.meta.url))

/** Any fixed number: two servers that start together migrate one after the other. */
const LOCK = 7461938

/** The SQL of the stores requires it. */
const OLDEST_POSTGRES = 15

/** @param place Counted from 1, of those that this run has to do. */
type OnBegin = (name: string, place: { readonly number: number; readonly of: number }) => void

/**
 * Migrates the database: runs every new file of `dir`, by name, each in its own transaction together with the record of
 * it.
 * @param onBegin Called before each of them: on a large database some take minutes.
 * @returns The names that ran; empty if there was nothing to do.
 * @throws AppError `unavailable` when a migration fails, when PostgreSQL is too old, when the database knows a
 *   migration that `dir` lacks (it belongs to a newer release), and when it ran another text under the same name.
 */
export async function migrate(
  connection: pg.ClientConfig,
  dir: string = migrationsDir,
  onBegin: OnBegin = () => {},
): Promise<string[]> {
  const client = new pg.Client(connection)
  // The statement in progress fails, or the next one; an error event without a listener would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    await checkVersion(client)
    await client.query('select pg_advisory_lock($1)', [LOCK])
    await client.query(`create table if not exists migration (
      name text primary key, sha256 text not null, applied_at timestamptz not null default now())`)
    const migrations = await readMigrations(dir)
    const due = await findDue(client, migrations)
    for (const [index, migration] of due.entries()) {
      onBegin(migration.name, { number: index + 1, of: due.length })
      await apply(client, migration)
    }
    return due.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

interface Migration {
  readonly name: string
  readonly text: string
  /** Lower-case hex. */
  readonly sha256: string
}

async function readMigrations(dir: string): Promise<Migration[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(dir, name), 'utf8')
      return { name, text, sha256: createHash('sha256').update(text).digest('hex') }
    }),
  )
}

async function checkVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>('show server_version_num')
  const major = Math.floor(Number(rows[0]?.server_version_num) / 10_000)
  if (major < OLDEST_POSTGRES)
    throw new AppError('unavailable', `PostgreSQL ${OLDEST_POSTGRES} or newer is needed; this is ${major}`)
}

async function findDue(client: pg.Client, migrations: readonly Migration[]): Promise<Migration[]> {
  const known = await client.query<{ name: string; sha256: string }>('select name, sha256 from migration order by name')
  const applied = new Map(known.rows.map(({ name, sha256 }) => [name, sha256]))
  const unknown = [...applied.keys()].filter((name) => !migrations.some((migration) => migration.name === name))
  if (unknown.length > 0)
    throw new AppError('unavailable', `the database is of a newer release: it has ${unknown.join(', ')}`)
  const changed = migrations.find(({ name, sha256 }) => applied.has(name) && applied.get(name) !== sha256)
  if (changed !== undefined)
    throw new AppError('unavailable', `the database is of another release: its ${changed.name} is not ours`)
  return migrations.filter(({ name }) => !applied.has(name))
}

async function apply(client: pg.Client, { name, text, sha256 }: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query(text)
    await client.query('insert into migration (name, sha256) values ($1, $2)', [name, sha256])
    await client.query('commit')
  } catch (error) {
    // A connection that was cut needs none.
    await client.query('rollback').catch(() => undefined)
    const why = messageOf(error)
    throw new AppError('unavailable', `migration ${name} failed: ${why}`)
  }
}
