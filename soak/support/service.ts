import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type WriteStream, createWriteStream } from 'node:fs'
import { mkdir, readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { type Client, createClient } from '../../src/cli/client.ts'
import { SOCKET_PORT, planSocketDir } from '../../src/platform/embedded-postgres/socket.ts'
import { builtProgram } from '../../test/support/servers/built-program.ts'
import { freePorts } from './free-ports.ts'

/** The built server as a user runs it, with its embedded PostgreSQL. Its ports and its data survive restarts. */
export interface Service {
  readonly url: string
  readonly ucentralPort: number
  readonly netconfPort: number
  readonly edgePort: number
  readonly dataDir: string
  /** The log of all runs of the server. */
  readonly logFile: string
  /** Starts the process. A running process must be ended first. */
  start(): void
  /** @returns False if the process ended before it was ready. */
  ready(): Promise<boolean>
  /** Resolves with true if the server is ready now. */
  isReady(): Promise<boolean>
  /**
   * Sends the signal and waits until the process has ended.
   * @returns Its exit code; null if a signal ended it.
   */
  end(signal: 'SIGKILL' | 'SIGINT'): Promise<number | null>
  /** Returns a client that calls the interface with this Authorization header, or as the operator. */
  client(authorization?: string): Promise<Client>
  /** Queries the database of the running server. */
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Ends whatever still runs. */
  close(): Promise<void>
}

/** @param folder Exists; the data and the log are written there. Its `data` may be that of an earlier server. */
export async function createService(folder: string, env: Readonly<Record<string, string>>): Promise<Service> {
  const dataDir = join(folder, 'data')
  const logFile = join(folder, 'server.log')
  await mkdir(dataDir, { recursive: true })
  const log = createWriteStream(logFile)
  const [port, ucentralPort, netconfPort, edgePort] = await freePorts(4)
  const program = await builtProgram('server')
  const url = `http://127.0.0.1:${port}`
  const settings = {
    SIGNALBOX_DATA_DIR: dataDir,
    SIGNALBOX_PORT: String(port),
    SIGNALBOX_UCENTRAL_PORT: String(ucentralPort),
    SIGNALBOX_EDGE_PORT: String(edgePort),
    SIGNALBOX_NETCONF_PORT: String(netconfPort),
    SIGNALBOX_LOG_LEVEL: 'info',
    ...env,
  }
  let running: Running | null = null
  const end: Service['end'] = async (signal) => {
    if (running === null) throw new Error('the server does not run')
    running.child.kill(signal)
    const code = await running.exited
    running = null
    return code
  }
  return {
    url,
    ucentralPort: ucentralPort ?? 0,
    netconfPort: netconfPort ?? 0,
    edgePort: edgePort ?? 0,
    dataDir,
    logFile,
    start() {
      if (running !== null) throw new Error('the server runs already')
      running = run(program, settings, log)
    },
    ready: () => running?.ready ?? Promise.resolve(false),
    isReady: () =>
      Promise.race([running?.ready ?? false, new Promise<false>((resolve) => setImmediate(resolve, false))]),
    end,
    async client(authorization) {
      const key = authorization ?? `Operator ${(await readFile(join(dataDir, 'operator.key'), 'utf8')).trim()}`
      return createClient({ url, dataDir, authorization: key })
    },
    query: (text, values) => query(dataDir, text, values),
    async close() {
      if (running !== null) await end('SIGKILL')
      log.end()
    },
  }
}

interface Running {
  readonly child: ChildProcess
  readonly ready: Promise<boolean>
  readonly exited: Promise<number | null>
}

function run(program: string, env: Readonly<Record<string, string>>, log: WriteStream): Running {
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  child.stderr?.pipe(log, { end: false })
  child.stdout?.pipe(log, { end: false })
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  const ready = new Promise<boolean>((resolve) => {
    if (child.stdout === null) throw new Error('unreachable: its output is a pipe')
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('signalbox ready ')) resolve(true)
    })
    void exited.then(() => resolve(false))
  })
  return { child, ready, exited }
}

async function query<Row extends pg.QueryResultRow>(
  dataDir: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const host = planSocketDir(join(await realpath(dataDir), 'postgres'))
  const database = new pg.Client({ host, port: SOCKET_PORT, user: 'signalbox', database: 'signalbox' })
  await database.connect()
  try {
    return (await database.query<Row>(text, [...values])).rows
  } finally {
    await database.end()
  }
}
