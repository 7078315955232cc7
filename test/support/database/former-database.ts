import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { migrate, migrationsDir } from '../../../src/platform/database/migrate.ts'
import { type TestConnection, createEmptyDatabase } from './database.ts'
import { temporaryDir } from '../temporary-dir.ts'

export interface FormerDatabase {
  readonly client: pg.Client
  readonly connection: TestConnection
}

/**
 * Opens a database of a former release, with one organization in it.
 * @param nextMigration Number of the first migration that this release lacks, such as `0030`.
 */
export async function openFormerDatabase(nextMigration: string, orgId: string): Promise<FormerDatabase> {
  const database = await createEmptyDatabase()
  onTestFinished(() => database.drop())
  const folder = await temporaryDir()
  await cp(migrationsDir, folder, { recursive: true })
  for (const name of await readdir(folder)) if (name >= nextMigration) await rm(join(folder, name))
  await migrate(database.connection, folder)
  const client = new pg.Client(database.connection)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(
    `insert into org (id, name, doc, created_at, modified_at) values ($1, 'Test', '{}', now(), now())`,
    [orgId],
  )
  return { client, connection: database.connection }
}

/** Inserts a claimed access point, as releases since 0285 have them. */
export async function insertFormerDevice(client: pg.Client, orgId: string, deviceId: string): Promise<void> {
  await client.query(
    `with registered as (
       insert into device_registry (id, mac, serial, model, type, claim_code, org_id, created_at)
       values ($2, '000000000002', '2', 'm', 'ap', 'CODE', $1, now()) returning *
     ) insert into device (org_id, id, mac, serial, model, type, claim_code, created_at, modified_at, doc)
     select org_id, id, mac, serial, model, type, claim_code, now(), now(), '{}' from registered`,
    [orgId, deviceId],
  )
}
