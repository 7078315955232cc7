import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { migrate, migrationsDir } from '../../../src/platform/database/migrate.ts'
import { type TestDatabase, createTestDatabase } from '../../support/database/database.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

/** Creates a migrated database. */
async function openDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  return database
}

/** Creates a folder with the real migrations and one more. */
async function withMigration(name: string, sql: string): Promise<string> {
  const folder = await temporaryDir()
  await cp(migrationsDir, folder, { recursive: true })
  await writeFile(join(folder, name), sql)
  return folder
}

test('a migration runs once, even if several servers start together', async () => {
  const { connection } = await openDatabase()
  expect(await migrate(connection)).toEqual([])
  const folder = await withMigration('9999_more.sql', 'create table more (id int)')
  const ran = await Promise.all([1, 2, 3].map(() => migrate(connection, folder)))
  expect(ran.flat()).toEqual(['9999_more.sql'])
})

test('each migration is announced before it runs, with its place among those to do', async () => {
  const { connection } = await openDatabase()
  const folder = await withMigration('9998_more.sql', 'create table more (id int)')
  await writeFile(join(folder, '9999_bad.sql'), 'select * from nowhere')
  const begun: unknown[] = []
  await expect(migrate(connection, folder, (name, place) => begun.push([name, place]))).rejects.toThrow('9999_bad.sql')
  expect(begun).toEqual([
    ['9998_more.sql', { number: 1, of: 2 }],
    ['9999_bad.sql', { number: 2, of: 2 }],
  ])
})

test('a migration that fails leaves nothing behind and reports the reason in one line', async () => {
  const { connection } = await openDatabase()
  const folder = await withMigration('9999_bad.sql', 'create table half (id int); select * from nowhere')
  await expect(migrate(connection, folder)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'migration 9999_bad.sql failed: relation "nowhere" does not exist',
  })
  const mended = await withMigration('9999_bad.sql', 'create table half (id int)')
  expect(await migrate(connection, mended)).toEqual(['9999_bad.sql'])
})

test('a database of a newer release is not changed', async () => {
  const { connection } = await openDatabase()
  await migrate(connection, await withMigration('9999_later.sql', 'select 1'))
  await expect(migrate(connection)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'the database is of a newer release: it has 9999_later.sql',
  })
})

test('a migration that ran with a different text is detected', async () => {
  const { connection } = await openDatabase()
  await migrate(connection, await withMigration('9999_more.sql', 'create table more (id int)'))
  await expect(
    migrate(connection, await withMigration('9999_more.sql', 'create table other (id int)')),
  ).rejects.toMatchObject({
    code: 'unavailable',
    message: 'the database is of another release: its 9999_more.sql is not ours',
  })
})

test('a migration whose connection is cut fails with the reason, as any other', async () => {
  const { connection } = await openDatabase()
  const folder = await withMigration('9999_cut.sql', 'select pg_terminate_backend(pg_backend_pid())')
  await expect(migrate(connection, folder)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'migration 9999_cut.sql failed: terminating connection due to administrator command',
  })
})
