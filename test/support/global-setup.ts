import { randomUUID } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { openDataDir } from '../../src/platform/data-dir.ts'
import { stopOrphan } from '../../src/platform/embedded-postgres/orphan.ts'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres.ts'
import { createLog } from '../../src/platform/log.ts'
import { migrate } from '../../src/platform/migrate.ts'
import type { TestServer } from './database.ts'

const PREFIX = 'signalbox-test-'

/** A folder younger than this may belong to a run that has not locked it yet. */
const SETTLED_MS = 5000

const log = createLog('error')

interface RunningServer extends Omit<TestServer, 'template'> {
  stop(): Promise<void>
}

/** One database server for the whole run, with a migrated template that each test file clones. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer()
  const template = `signalbox_template_${randomUUID().replaceAll('-', '')}`
  try {
    await execute(server.admin, `create database ${template} owner ${pg.escapeIdentifier(await ownerOf(server))}`)
    await migrate({ ...server.owner, database: template })
  } catch (error) {
    await server.stop()
    throw error
  }
  project.provide('databaseServer', { admin: server.admin, owner: server.owner, template })
  return async () => {
    await execute(server.admin, `drop database if exists ${template} with (force)`)
    await server.stop()
  }
}

async function startServer(): Promise<RunningServer> {
  const url = process.env['SIGNALBOX_TEST_DATABASE_URL']
  if (url === undefined || url === '') return startTemporaryServer()
  const { hostname, port, username, password, pathname, searchParams } = new URL(url)
  const own = {
    host: searchParams.get('host') ?? decodeURIComponent(hostname),
    port: port === '' ? 5432 : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1) || 'postgres',
  }
  return { admin: own, owner: own, stop: async () => {} }
}

async function startTemporaryServer(): Promise<RunningServer> {
  await sweep()
  const dataDir = await openDataDir(join(tmpdir(), `${PREFIX}${randomUUID().slice(0, 8)}`))
  const server = await startEmbeddedPostgres({ dataDir: dataDir.path, log, durable: false })
  const { connection } = server
  return {
    admin: { ...connection, user: 'postgres', database: 'postgres' },
    owner: connection,
    stop: async () => {
      await server.stop()
      dataDir.release()
      await rm(dataDir.path, { recursive: true, force: true })
    },
  }
}

/** Removes what runs that were cut left behind: a folder that can be locked has no run. */
async function sweep(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue
    const path = join(tmpdir(), name)
    const found = await stat(path).catch(() => null)
    if (found === null || Date.now() - found.mtimeMs < SETTLED_MS) continue
    const dataDir = await openDataDir(path).catch(() => null) // in use, or another user's
    if (dataDir === null) continue
    await stopOrphan(join(dataDir.path, 'postgres/cluster'), log)
    dataDir.release()
    await rm(path, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function ownerOf(server: RunningServer): Promise<string> {
  const { rows } = await execute(server.owner, 'select current_user as name')
  return String(rows[0]?.['name'])
}

async function execute(config: pg.ClientConfig, statement: string): Promise<pg.QueryResult<Record<string, unknown>>> {
  const client = new pg.Client(config)
  await client.connect()
  try {
    return await client.query<Record<string, unknown>>(statement)
  } finally {
    await client.end()
  }
}
