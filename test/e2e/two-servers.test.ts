import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { lockDatabase } from '../../src/platform/database/database-lock.ts'
import { type TestConnection, createTestDatabase, databaseUrl } from '../support/database/database.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

/** Each test starts processes, which takes long on a busy machine. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

interface Ended {
  readonly code: number | null
  readonly complaint: string
}

/** Runs one of the project's programs until it ends, or, if it should have refused to run, until it has succeeded. */
async function run(program: 'server' | 'migrate', env: Readonly<Record<string, string>>): Promise<Ended> {
  const child = spawn(process.execPath, [await builtProgram(program)], {
    env: {
      ...process.env,
      SIGNALBOX_PORT: '0',
      SIGNALBOX_UCENTRAL_PORT: '0',
      SIGNALBOX_EDGE_PORT: '0',
      SIGNALBOX_LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdout.once('data', () => child.kill('SIGKILL'))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [complaint, code] = await Promise.all([text(child.stderr), ended])
  return { code, complaint }
}

describe('on one external database', () => {
  const ends: (() => unknown)[] = []
  const atEnd = (end: () => unknown): void => void ends.unshift(end)
  let connection: TestConnection
  let onIt: Readonly<Record<string, string>>
  let dataDir: string
  let server: ServerProcess
  const start = () => startServerProcess({ dataDir, env: { ...onIt, SIGNALBOX_LOG_LEVEL: 'fatal' } }, atEnd)
  beforeAll(async () => {
    const database = await createTestDatabase()
    atEnd(() => database.drop())
    connection = database.connection
    onIt = { SIGNALBOX_DATABASE_URL: databaseUrl(connection) }
    dataDir = await temporaryDir(atEnd)
    server = await start()
  })
  afterAll(async () => {
    for (const end of ends) await end()
  })

  it('a second server or a migration refuses a database that a server uses', async () => {
    const runOnIt = async (program: 'server' | 'migrate') =>
      run(program, { ...onIt, SIGNALBOX_DATA_DIR: await temporaryDir() })
    // Each waits for the first server to end before it gives up.
    for (const { code, complaint } of await Promise.all([runOnIt('server'), runOnIt('migrate')])) {
      expect(complaint.trimEnd().split('\n')).toHaveLength(1)
      expect(complaint).toContain(`Database ${connection.database} on `)
      expect(complaint).toContain(`is in use by signalbox server, process ${server.child.pid} on `)
      expect(code).toBe(1)
    }
    expect((await fetch(`${server.url}/api/v1/self`)).status).toBe(401)
  })

  it('a server starts immediately after the previous one was killed', async () => {
    await server.kill('SIGKILL')
    server = await start()
    expect((await fetch(`${server.url}/api/v1/self`)).status).toBe(401)
  })

  it('a server that has lost its database to another one stops gracefully and reports the reason', async () => {
    const { child } = server
    if (child.stderr === null) throw new Error('no pipe')
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const complaint = text(child.stderr)
    const observer = new pg.Client(connection)
    await observer.connect()
    onTestFinished(() => observer.end())
    const other = lockDatabase({ connection, log: pino({ level: 'silent' }), program: 'test' })
    await waitUntil('the other to wait for the lock', async () => {
      const waiting = await observer.query(
        "select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'",
      )
      return waiting.rowCount === 1
    })
    const held = "application_name like 'signalbox server, %'"
    await observer.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and ${held}`,
    )
    const lock = await other
    onTestFinished(() => lock.release())
    expect(await ended).toBe(1)
    const lines = (await complaint).trimEnd().split('\n')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(`is in use by signalbox test, process ${process.pid} on `)
  })

  it('a server with another key of the secrets in the database does not start', async () => {
    // Otherwise it would refuse the database because a server uses it.
    await server.kill('SIGKILL')
    const other = await temporaryDir()
    const { code, complaint } = await run('server', { ...onIt, SIGNALBOX_DATA_DIR: other })
    expect(complaint).toBe(
      `signalbox: ${other}/secret.key is not the key with which the secrets in the database are encrypted: restore it from the backup of the data folder\n`,
    )
    expect(code).toBe(1)
  })
})

it('a server starts immediately after the previous one was killed on the embedded database', async () => {
  const dataDir = await temporaryDir()
  const killed = await startServerProcess({ dataDir })
  await killed.kill('SIGKILL')
  const next = await startServerProcess({ dataDir })
  expect((await fetch(`${next.url}/api/v1/self`)).status).toBe(401)
})
