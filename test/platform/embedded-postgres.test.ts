import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, cp, mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { getPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openDataDir } from '../../src/platform/data-dir.ts'
import { endPool } from '../../src/platform/database/connections/end-pool.ts'
import { openHeavyPool } from '../../src/platform/database/connections/pools.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres.ts'
import { findNobody } from '../../src/platform/embedded-postgres/account.ts'
import { findBinaries } from '../../src/platform/embedded-postgres/binaries.ts'
import { makeHome, prepareCluster } from '../../src/platform/embedded-postgres/cluster.ts'
import { launchProgram, planLaunch } from '../../src/platform/embedded-postgres/launch.ts'
import { lowerBackend } from '../../src/platform/embedded-postgres/lower-backend.ts'
import { stopOrphan } from '../../src/platform/embedded-postgres/orphan.ts'
import { createLog } from '../../src/platform/log.ts'
import { copyPreparedData } from '../support/database/prepared-data.ts'
import { mayRunAsOther, otherUser } from '../support/other-user.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

const log = createLog('fatal')
const isRoot = process.getuid?.() === 0

/** A program that names the superuser to the socket of its argument, and prints the answer. */
const greeting = `
  const names = Buffer.from('user\\0postgres\\0database\\0postgres\\0\\0')
  const head = Buffer.alloc(8)
  head.writeInt32BE(8 + names.length, 0)
  head.writeInt32BE(3 << 16, 4)
  const socket = require('node:net').connect(process.argv[1])
  socket.end(Buffer.concat([head, names]))
  socket.pipe(process.stdout)`

async function start(path: string): Promise<EmbeddedPostgres> {
  const dataDir = await openDataDir(path)
  onTestFinished(() => dataDir.release())
  const server = await startEmbeddedPostgres({ dataDir: dataDir.path, log })
  onTestFinished(() => server.stop())
  return server
}

/** Starts the database of a data folder that a server has used: to create one takes more processor time than ten starts. */
async function startExisting(): Promise<{ readonly path: string; readonly server: EmbeddedPostgres }> {
  const path = join(await temporaryDir(), 'data')
  await copyPreparedData(path)
  return { path, server: await start(path) }
}

async function query(server: EmbeddedPostgres, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ ...server.connection })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows
  } finally {
    await client.end()
  }
}

/** Returns undefined on a system without groups of sessions. */
async function groupNiceness(pid: number | 'self'): Promise<number | undefined> {
  const group = await readFile(`/proc/${pid}/autogroup`, 'utf8').catch(() => '')
  return group === '' ? undefined : Number(/nice (-?\d+)/.exec(group)?.[1])
}

async function postmasterPid(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8'), 10)
}

test('a first start creates a durable, private database that the application owns', async () => {
  const server = await start(join(await temporaryDir(), 'data'))
  const names = ['fsync', 'data_checksums', 'listen_addresses', 'server_encoding', 'TimeZone', 'is_superuser']
  const settings = await Promise.all(
    names.map(async (name) => Object.values((await query(server, `show ${name}`))[0] ?? {})[0]),
  )
  expect(settings).toEqual(['on', 'on', '', 'UTF8', 'UTC', 'off'])
  await query(server, 'create extension pg_trgm')
})

test('only the user of this process is admitted, whichever role is requested', async (context) => {
  const { server } = await startExisting()
  const superuser = { ...server, connection: { ...server.connection, user: 'postgres' } }
  expect(await query(superuser, 'select type, auth_method, error from pg_hba_file_rules')).toEqual([
    { type: 'local', auth_method: 'peer', error: null },
  ])
  if (!isRoot) context.skip('another user is tried as root')
  const account = await findNobody()
  const socket = join(server.connection.host, `.s.PGSQL.${server.connection.port}`)
  const launch = await planLaunch({ account, paths: [process.execPath, socket] })
  const child = launchProgram(launch, [process.execPath, '-e', greeting, socket])
  expect(await text(child.stdout)).toContain('Peer authentication failed for user "postgres"')
})

test('the connections of heavy accounts have a lower priority than this process', async () => {
  const { server } = await startExisting()
  const lowered: Promise<void>[] = []
  const pools = [0, 1].map(() =>
    openHeavyPool(server.connection, { onError: () => undefined, onOpen: (pid) => lowered.push(lowerBackend(pid)) }),
  )
  const show = "select pg_backend_pid() as pid, current_setting('max_parallel_workers_per_gather') as workers"
  const [first, ...others] = await Promise.all(
    pools.flatMap((pool) =>
      [0, 1].map(
        async () => (await pool.query<{ pid: number; workers: string }>(show)).rows[0] ?? { pid: 0, workers: '' },
      ),
    ),
  )
  const pids = [...new Set([first, ...others].map((row) => row?.pid ?? 0))]
  expect([pids.length, first?.workers]).toEqual([2, '0'])
  await Promise.all(lowered)
  const lowerThan = (niceness: number): number => Math.min(niceness + 10, 19)
  expect(pids.map((pid) => getPriority(pid))).toEqual(pids.map(() => lowerThan(getPriority())))
  const own = await groupNiceness('self')
  if (own !== undefined) for (const pid of pids) expect(await groupNiceness(pid)).toBe(lowerThan(own))
  await Promise.all(pools.map((pool) => endPool(pool)))
  // It does nothing for a process that has ended.
  await lowerBackend(pids[0] ?? 0)
})

test('stop ends the sessions and the process, and the rows are preserved', async () => {
  const { path, server: first } = await startExisting()
  await query(first, 'create table t as select 42 as n')
  const session = new pg.Client({ ...first.connection })
  const ended = new Promise((resolve) => session.on('error', resolve))
  await session.connect()
  await first.stop()
  expect(await first.exited).toBe('code 0')
  await ended
  const second = await startEmbeddedPostgres({ dataDir: path, log })
  onTestFinished(() => second.stop())
  expect(await query(second, 'select n from t')).toEqual([{ n: 42 }])
})

test('exited reports a database that died, and a start recovers it', async () => {
  const { path, server } = await startExisting()
  await query(server, 'create table t as select 42 as n')
  process.kill(await postmasterPid(path), 'SIGKILL')
  expect(await server.exited).toBe('signal SIGKILL')
  // The process id in its lock files now belongs to another process.
  const pidFile = join(path, 'postgres/cluster/postmaster.pid')
  await writeFile(pidFile, (await readFile(pidFile, 'utf8')).replace(/^\d+/, String(process.ppid)))
  const second = await startEmbeddedPostgres({ dataDir: path, log })
  onTestFinished(() => second.stop())
  expect(await query(second, 'select n from t')).toEqual([{ n: 42 }])
})

test('an orphan of an earlier run is stopped gracefully', async () => {
  const { path, server } = await startExisting()
  // Returns null, or the process id while this process has not reaped it yet.
  await stopOrphan(join(path, 'postgres/cluster'), log)
  expect(await server.exited).toBe('code 0')
})

test('a cluster whose creation was interrupted is created again', async () => {
  const path = await temporaryDir()
  await mkdir(join(path, 'postgres/cluster.new-1'), { recursive: true })
  await writeFile(join(path, 'postgres/cluster.new-1/PG_VERSION'), '18\n')
  const server = await start(path)
  expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }])
  expect((await readdir(join(path, 'postgres'))).filter((name) => name.includes('new'))).toEqual([])
})

test('a cluster is created while the initdb of a killed start ends, which deletes its folder', async () => {
  const home = await temporaryDir()
  const [goesOn, ended] = [join(home, 'goes-on'), join(home, 'ended')]
  const wait = (file: string): string => `until [ -e ${file} ]; do sleep 0.01; done`
  const folder = '${1#--pgdata=}'
  const create = async (script: string): Promise<string> => {
    const initdb = join(home, `initdb-${randomUUID()}`)
    await writeFile(initdb, `#!/bin/sh\nmkdir "${folder}"\n${script}\n`, { mode: 0o755 })
    const binaries = { initdb, postgres: 'none', majorVersion: 18 }
    return prepareCluster({ launch: { prefix: [], account: null }, binaries, home, durable: false })
  }
  const killed = create(`${wait(goesOn)}; rm -r "${folder}"; touch ${ended}; exit 1`).catch(() => null)
  await waitUntil('the first one has its folder', async () =>
    (await readdir(home)).some((name) => name.includes('new')),
  )
  await create(`touch ${goesOn}; ${wait(ended)}; echo 18 > "${folder}/PG_VERSION"`)
  expect(await readFile(join(home, 'cluster/PG_VERSION'), 'utf8')).toBe('18\n')
  await killed
})

test('a cluster of another major version is refused with one line', async () => {
  const path = await temporaryDir()
  await mkdir(join(path, 'postgres/cluster'), { recursive: true })
  await writeFile(join(path, 'postgres/cluster/PG_VERSION'), '9\n')
  await expect(start(path)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/cluster was created by PostgreSQL 9, but this Signalbox includes PostgreSQL \d+$/),
  })
})

test('a damaged cluster ends the start with one line that gives the reason', async () => {
  const { path, server } = await startExisting()
  await server.stop()
  await writeFile(join(path, 'postgres/cluster/postgresql.conf'), 'no_such_setting = 1\n')
  await expect(startEmbeddedPostgres({ dataDir: path, log })).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/^PostgreSQL did not start: FATAL: [^\n]*postgresql\.conf[^\n]*$/),
  })
})

test('works in a path with blanks, commas and quotes that is too long for a socket', async () => {
  const path = join(await temporaryDir(), `a b,c"d'e`, 'x'.repeat(120))
  const server = await start(path)
  expect(server.connection.host.startsWith(path)).toBe(false)
  expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }])
})

test.skipIf(!isRoot)('starts from a backup that root has restored by a copy without owners', async () => {
  const { path, server } = await startExisting()
  await query(server, 'create table kept as select 7 as x')
  await server.stop()
  const copy = join(await temporaryDir(), 'restored')
  await cp(join(path, 'postgres/cluster'), join(copy, 'postgres/cluster'), { recursive: true })
  const restored = await start(copy)
  expect(await query(restored, 'select x from kept')).toEqual([{ x: 7 }])
})

test.skipIf(!isRoot)('works as root, in a folder that only root may enter', async () => {
  const closed = await temporaryDir()
  await chmod(closed, 0o700)
  const server = await start(join(closed, 'clone/data'))
  expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }])
})

test.skipIf(!isRoot)('works as root, installed in a folder that only root may enter, such as its home', async () => {
  const closed = await temporaryDir()
  const { postgres, majorVersion } = await findBinaries()
  const native = join(closed, 'native')
  await cp(dirname(dirname(postgres)), native, { recursive: true, verbatimSymlinks: true })
  await chmod(closed, 0o700)
  const binaries = { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres'), majorVersion }
  const home = join(closed, 'data')
  const account = await findNobody()
  await makeHome(home, account)
  const launch = await planLaunch({ account, paths: [binaries.postgres, join(home, 'cluster')] })
  const cluster = await prepareCluster({ launch, binaries, home, durable: false })
  expect(await readFile(join(cluster, 'PG_VERSION'), 'utf8')).toBe(`${majorVersion}\n`)
})

test.skipIf(!mayRunAsOther)(
  'a user whom the user database does not know is refused before anything is created',
  async () => {
    const source = new URL('../../src/platform/embedded-postgres/account.ts', import.meta.url).href
    const script = `const { chooseAccount } = await import(process.argv[1])
    console.log(await chooseAccount('/', '/nowhere').then(() => 'chosen', (error) => error.message))`
    const args = ['--input-type=module', '--eval', script, source]
    const { stdout } = await promisify(execFile)(process.execPath, args, otherUser)
    expect(stdout).toMatch(/^PostgreSQL refuses user 12345, who has no name in .*SIGNALBOX_DATABASE_URL\n$/)
  },
)
