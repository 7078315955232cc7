import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { chooseAccount } from './account.ts'
import { writeAuthentication } from './authentication.ts'
import { findBinaries } from './binaries.ts'
import { adoptCluster, makeHome, prepareCluster } from './cluster.ts'
import { connectWhenReady, ensureDatabase } from './database.ts'
import { planLaunch } from './launch.ts'
import { stopOrphan } from './orphan.ts'
import { type Postmaster, runPostmaster } from './postmaster.ts'
import { SOCKET_PORT, makeSocketDir, planSocketDir, quoteSocketDir, removeSocketDir } from './socket.ts'
import { AppError } from '../errors.ts'
import type { Logger } from '../log.ts'

export interface EmbeddedPostgresOptions {
  /** The caller has locked the folder (openDataDir), so any PostgreSQL that runs on it is an orphan and is stopped. */
  readonly dataDir: string
  readonly log: Logger
  /** False gives up safety against power loss, for databases that are thrown away. Default true. */
  readonly durable?: boolean
  /** Default 60, enough for one service. */
  readonly maxConnections?: number
}

export interface PostgresConnection {
  /** Folder of the Unix socket. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
}

export interface EmbeddedPostgres {
  /** For the owner of the application's database, who is not a superuser. */
  readonly connection: PostgresConnection
  /**
   * Ends all connections, writes a checkpoint, and resolves when the process has ended. @param withinMs Ends it by force
   * then. Default 30 s.
   */
  stop(withinMs?: number): Promise<void>
  /** Resolves with the reason when the process ends. Never rejects. */
  readonly exited: Promise<string>
}

const APPLICATION = 'signalbox'

/** How long the processes of a killed predecessor may take to end. */
const PREDECESSOR_MS = 5000
const RETRY_MS = 50

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '',
  port: String(SOCKET_PORT),
  unix_socket_permissions: '0700',
  shared_buffers: '128MB',
  // After a checkpoint the log repeats each page that changes. Large upgrades wrote a third less with compressed pages.
  wal_compression: 'pglz',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '',
  log_checkpoints: 'off',
}

const NOT_DURABLE: Readonly<Record<string, string>> = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
}

/**
 * Starts the PostgreSQL of the installation on `dataDir/postgres`, and creates its cluster and the application's
 * database on first use. It listens on a Unix socket only and ends with this process.
 * @throws AppError `unavailable`, one line for the operator, when it can't run here.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log, durable = true, maxConnections = 60 } = options
  const dataDir = await realpath(options.dataDir)
  const home = join(dataDir, 'postgres')
  const binaries = await findBinaries()
  const account = await chooseAccount(dataDir, home)
  await makeHome(home, account)
  await adoptCluster(home, account)
  const socketDir = planSocketDir(home)
  const launch = await planLaunch({
    account,
    paths: [binaries.postgres, join(home, 'cluster'), join(socketDir, 'socket')],
  })
  const reusedPid = await stopOrphan(join(home, 'cluster'), log)
  const cluster = await prepareCluster({ launch, binaries, home, durable })
  if (socketDir !== home) await makeSocketDir(socketDir, account)

  const settings = {
    ...SETTINGS,
    max_connections: String(maxConnections),
    ...(await writeAuthentication(home, account, [APPLICATION])),
    unix_socket_directories: quoteSocketDir(socketDir),
    ...(durable ? {} : NOT_DURABLE),
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  // As pg_ctl does: states that this process id in a leftover lock file is not another postmaster's.
  const env = reusedPid === null ? {} : { PG_GRANDPARENT_PID: String(reusedPid) }
  const connection = { host: socketDir, port: SOCKET_PORT, user: APPLICATION, database: APPLICATION }
  const postmaster = await startPostmaster(
    () => runPostmaster({ launch, command: [binaries.postgres, '-D', cluster, ...flags], env, log }),
    connection,
  )
  return {
    connection,
    exited: postmaster.exited,
    stop: async (withinMs) => {
      await postmaster.stop(withinMs)
      if (socketDir !== home) await removeSocketDir(socketDir)
    },
  }
}

async function startPostmaster(run: () => Postmaster, connection: PostgresConnection): Promise<Postmaster> {
  const deadline = performance.now() + PREDECESSOR_MS
  for (;;) {
    const postmaster = run()
    try {
      const client = await connectWhenReady(connection, postmaster.exited)
      if (client !== null) {
        await ensureDatabase(client, APPLICATION).finally(() => client.end())
        return postmaster
      }
    } catch (error) {
      await postmaster.stop()
      throw error
    }
    const complaint = postmaster.complaint()
    // Processes of a killed predecessor, or the predecessor as a zombie, may linger for a moment.
    const lingering = /lock file .* already exists|shared memory block .* still in use/.test(complaint)
    if (!lingering || performance.now() > deadline) {
      throw new AppError('unavailable', `PostgreSQL did not start: ${complaint}`)
    }
    await delay(RETRY_MS)
  }
}
