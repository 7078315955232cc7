import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { PostgresConnection } from '../../src/platform/embedded-postgres/embedded-postgres.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

const HOST = fileURLToPath(new URL('../support/servers/postgres-host.ts', import.meta.url))

function spawnHost(path: string): ChildProcess {
  const child = spawn(process.execPath, [HOST, path], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  return child
}

async function startHost(path: string): Promise<{ child: ChildProcess; connection: PostgresConnection }> {
  const child = spawnHost(path)
  if (child.stdout === null) throw new Error('no output')
  for await (const line of createInterface({ input: child.stdout })) {
    const connection: PostgresConnection = JSON.parse(line)
    return { child, connection }
  }
  throw new Error(`ended: ${child.stderr === null ? '' : await text(child.stderr)}`)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false // ESRCH: the process has ended.
  }
}

async function connect(connection: PostgresConnection): Promise<pg.Client> {
  const client = new pg.Client({ ...connection })
  client.on('error', () => {}) // The test kills the database of this connection.
  await client.connect()
  return client
}

async function postmasterPid(path: string): Promise<number> {
  return Number.parseInt(await readFile(join(path, 'postgres/cluster/postmaster.pid'), 'utf8'), 10)
}

/** Inserts 1, 2, 3, ... until the connection breaks; `state.committed` is the last acknowledged one. */
async function write(client: pg.Client, state: { committed: number }): Promise<void> {
  for (let n = state.committed + 1; ; n += 1) {
    const sent = await client.query('insert into t values ($1)', [n]).then(
      () => true,
      () => false,
    )
    if (!sent) return
    state.committed = n
  }
}

test('kill -9 of the owner ends the database too, and no committed row is lost', async () => {
  const path = await temporaryDir()
  let { child, connection } = await startHost(path)
  const setup = await connect(connection)
  await setup.query('create table t (n integer primary key)')
  await setup.end()
  const state = { committed: 0 }
  for (let round = 1; round <= 3; round += 1) {
    const postmaster = await postmasterPid(path)
    const client = await connect(connection)
    const before = state.committed
    const writing = write(client, state)
    await waitUntil('rows are written', () => state.committed > before + 20)
    child.kill('SIGKILL')
    if (round === 1 && process.platform === 'linux') {
      await waitUntil('the database has ended', () => !isAlive(postmaster))
    }
    await writing
    // In later rounds the next owner starts immediately, while the old database may still run.
    ;({ child, connection } = await startHost(path))
    const check = await connect(connection)
    const { rows } = await check.query<{ count: number }>('select count(*)::int as count from t where n <= $1', [
      state.committed,
    ])
    expect(rows[0]?.count).toBe(state.committed)
    const { rows: last } = await check.query<{ max: number }>('select max(n) as max from t')
    state.committed = last[0]?.max ?? 0 // One row may have been committed without an acknowledgment.
    await check.end()
  }
})

test('a second process with the folder ends immediately with one line, and the first one continues', async () => {
  const path = await temporaryDir()
  const { child, connection } = await startHost(path)
  const second = spawnHost(path)
  if (second.stderr === null) throw new Error('no output')
  const [complaint, [code]] = await Promise.all([text(second.stderr), once(second, 'exit')])
  expect(code).not.toBe(0)
  expect(complaint).toContain(`AppError: data folder ${path} is in use by process ${child.pid}\n`)
  const client = await connect(connection)
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await client.end()
})

test('an orderly end leaves neither a process nor a socket', async () => {
  const path = await temporaryDir()
  const { child, connection } = await startHost(path)
  const postmaster = await postmasterPid(path)
  child.kill('SIGTERM')
  await once(child, 'exit')
  expect(child.exitCode).toBe(0)
  expect(isAlive(postmaster)).toBe(false)
  await expect(connect(connection)).rejects.toMatchObject({ code: 'ENOENT' })
})
