import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres.ts'
import { createLog } from '../../src/platform/log.ts'
import { migrate } from '../../src/platform/database/migrate.ts'
import type { TestServer } from './database/database.ts'
import { deadlockLog } from './database/deadlock-log.ts'
import { type TemplateContents, prepareTemplate } from './database/template-contents.ts'
import { makeRunDir } from './servers/run-dir.ts'

const log = createLog('error')

interface RunningServer extends Omit<TestServer, 'template' | 'contents'> {
  stop(): Promise<void>
}

/**
 * Creates one folder and one database server for the whole run, with a migrated template that each test file clones.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const runDir = await makeRunDir(log)
  // The processes of the tests inherit these variables. Without the cache, each server, agent and simulator that a test
  // starts would compile the same modules again, which takes a third of its start.
  const restore = setEnvironment({ TMPDIR: runDir.path, NODE_COMPILE_CACHE: join(runDir.path, 'compiled') })
  const stop = await provideDatabases(project, runDir.dataDir.path).catch(async (error: unknown) => {
    await runDir.remove()
    throw error
  })
  return async () => {
    await stop()
    restore()
    await runDir.remove()
  }
}

/** Returns a function that restores the former values. */
function setEnvironment(values: Readonly<Record<string, string>>): () => void {
  const former = Object.keys(values).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, values)
  return () => {
    for (const [name, value] of former)
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
}

async function provideDatabases(project: TestProject, dataDir: string): Promise<() => Promise<void>> {
  const server = await startServer(dataDir)
  let contents: TemplateContents | null
  const template = `signalbox_template_${randomUUID().replaceAll('-', '')}`
  try {
    await execute(server.admin, `create database ${template} owner ${pg.escapeIdentifier(await ownerOf(server))}`)
    await migrate({ ...server.owner, database: template })
    contents = await prepareTemplate({ ...server.admin, database: template })
  } catch (error) {
    await server.stop()
    throw error
  }
  project.provide('databaseServer', { admin: server.admin, owner: server.owner, template, contents })
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
  // Several test files use it at a time, each with the connections of a service or two.
  const reports = deadlockLog((text) => process.stderr.write(text))
  const server = await startEmbeddedPostgres({
    dataDir,
    log: createLog('debug', reports),
    durable: false,
    maxConnections: 200,
  })
  const { connection } = server
  const admin = { ...connection, user: 'postgres', database: 'postgres' }
  // PostgreSQL would analyze tables at times that no test determines, the template among them, and plan by what it finds.
  await execute(admin, 'alter system set autovacuum = off')
  await execute(admin, 'select pg_reload_conf()')
  return {
    admin,
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
