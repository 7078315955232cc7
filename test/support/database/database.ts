import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import type { TemplateContents } from './template-contents.ts'

/** Has a member for each option of pg; it is plain data, because it passes between processes. */
export interface TestConnection {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password?: string
  readonly database: string
}

/** The database server that the global set-up started. */
export interface TestServer {
  /** This role may create and drop databases. */
  readonly admin: TestConnection
  /** This role owns the databases, as the application's role does. */
  readonly owner: TestConnection
  /** A migrated database without rows but those of the migrations. */
  readonly template: string
  /** Null: the administrator may not empty databases, so each is used once. */
  readonly contents: TemplateContents | null
}

export interface TestDatabase {
  /** Options for pg.Pool and migrate. */
  readonly connection: TestConnection
  /** Ends all sessions of the database and drops it. */
  drop(): Promise<void>
}

declare module 'vitest' {
  interface ProvidedContext {
    databaseServer: TestServer
  }
}

/**
 * Sends the statements that create and drop databases. The files of a process share the connection, because two more for
 * each database take a quarter of what the database itself takes.
 */
let administrator: pg.Pool | undefined

/** Creates a migrated, empty database for the caller only. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { admin, owner, template } = inject('databaseServer')
  // The other strategy writes each page to the log first, which takes half as much time again.
  return create(`template ${template} strategy file_copy`, { admin, owner })
}

/** Creates a database without a schema, for tests of migrations. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return create('template template0', inject('databaseServer'))
}

async function create(source: string, { admin, owner }: Pick<TestServer, 'admin' | 'owner'>): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer(admin, `create database ${name} ${source} owner ${pg.escapeIdentifier(owner.user)}`)
  return {
    connection: { ...owner, database: name },
    drop: () => administer(admin, `drop database if exists ${name} with (force)`),
  }
}

/** Returns the address as an operator writes it in SIGNALBOX_DATABASE_URL. */
export function databaseUrl({ host, port, user, password = '', database }: TestConnection): string {
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`
  return `postgresql://${login}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`
}

async function administer(admin: TestConnection, statement: string): Promise<void> {
  administrator ??= openAdministrator(admin)
  await administrator.query(statement)
}

/** Opens a connection that stays open, for what the application's role is not allowed to do. */
export function openAdministrator(admin: TestConnection): pg.Pool {
  const pool = new pg.Pool({ ...admin, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
  // Without a listener, an idle connection that breaks would end the process of the tests.
  pool.on('error', () => {})
  return pool
}
