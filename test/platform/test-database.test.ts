import pg from 'pg'
import { expect, test } from 'vitest'
import { createEmptyDatabase, createTestDatabase } from '../support/database/database.ts'

async function tableCount(connection: pg.ClientConfig): Promise<number> {
  const client = new pg.Client(connection)
  await client.connect()
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  await client.end()
  return rows[0]?.count ?? -1
}

test('a test database is migrated, an empty one is not', async () => {
  const [migrated, empty] = await Promise.all([createTestDatabase(), createEmptyDatabase()])
  expect(await tableCount(migrated.connection)).toBeGreaterThan(0)
  expect(await tableCount(empty.connection)).toBe(0)
  await Promise.all([migrated.drop(), empty.drop()])
})

test('drop ends the sessions on the database', async () => {
  const database = await createTestDatabase()
  const client = new pg.Client(database.connection)
  await client.connect()
  // There are two errors: the server's last message, then the closed socket.
  const ended = new Promise((resolve) => client.on('error', resolve))
  await database.drop()
  expect(await ended).toMatchObject({ code: '57P01' })
  await expect(tableCount(database.connection)).rejects.toMatchObject({ code: '3D000' })
})
