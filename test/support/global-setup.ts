import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres.ts'
import { createLog } from '../../src/platform/log.ts'
import { migrate } from '../../src/platform/migrate.ts'
import type { TestServer } from './database.ts'
import { makeRunDir } from './run-dir.ts'

const log = createLog('error')

interface RunningServer extends Omit<TestServer, 'template'> {
  stop(): Promise<void>
}

/**
 * Creates one folder and one database server for the whole run, with a migrated template that each test file clones.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const runDir = await makeRunDir(log)
  const temporary = process.env['TMPDIR']
  // The processes of the tests inherit this variable.
  process.env['TMPDIR'] = runDir.path
  const stop = await provideDatabases(project, runDir.dataDir.path).catch(async (error: unknown) => {
    await runDir.remove()
    throw error
  })
  return async () => {
    await stop()
    if (temporary === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = temporary
    await runDir.remove()
  }
}

async function provideDatabases(project: TestProject, dataDir: string): Promise<() => Promise<void>> {
  const server = await startServer(dataDir)
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

async function startServer(dataDir: string): Promise<RunningServer> {
  const url = process.env['SIGNALBOX_TEST_DATABASE_URL']
  if (url === undefined || url === '') return startTemporaryServer(dataDir)
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

async function startTemporaryServer(dataDir: string): Promise<RunningServer> {
  const server = await startEmbeddedPostgres({ dataDir, log, durable: false })
  const { connection } = server
  return {
    admin: { ...connection, user: 'postgres', database: 'postgres' },
    owner: connection,
    stop: () => server.stop(),
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
