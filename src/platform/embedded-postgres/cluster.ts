import { randomUUID } from 'node:crypto'
import { chown, lchown, lstat, mkdir, readFile, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { sync } from '../storage/files.ts'
import type { Account } from './account.ts'
import type { PostgresBinaries } from './binaries.ts'
import { type Launch, launchProgram } from './launch.ts'
import { AppError } from '../errors.ts'

/** The cluster's administrator; the application itself connects with a lesser role. */
export const SUPERUSER = 'postgres'

export interface ClusterRequest {
  readonly launch: Launch
  readonly binaries: PostgresBinaries
  /** Contains the cluster; created by makeHome(). */
  readonly home: string
  readonly durable: boolean
}

/**
 * Creates a folder that only the cluster's user (and root) can enter.
 */
export async function makeHome(home: string, account: Account | null): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 })
  if (account !== null) await chown(home, account.uid, account.gid)
}

/**
 * Gives an existing cluster to its user if it belongs to root, who has restored a backup by a copy without owners:
 * PostgreSQL refuses a cluster of another user.
 */
export async function adoptCluster(home: string, account: Account | null): Promise<void> {
  if (account === null) return
  const cluster = join(home, 'cluster')
  const found = await lstat(cluster).catch(nullIfMissing)
  if (found?.uid !== 0) return
  for (const { parentPath, name } of await readdir(cluster, { recursive: true, withFileTypes: true }))
    await lchown(join(parentPath, name), account.uid, account.gid)
  // It is the last one, so that the next start continues if this one is interrupted.
  await lchown(cluster, account.uid, account.gid)
}

/** The folders in which clusters are created begin with it. */
const UNFINISHED = 'cluster.new-'

/**
 * Returns the cluster's folder, which it creates on first use. It is created under another name and renamed when
 * complete, so a folder with the final name is complete.
 * @throws AppError `unavailable` when another major version created it, or it can't be created.
 */
export async function prepareCluster(request: ClusterRequest): Promise<string> {
  const cluster = join(request.home, 'cluster')
  await deleteUnfinished(request.home)
  const found = await readVersion(cluster)
  if (found === null) {
    await initialize(request, cluster)
    return cluster
  }
  if (found !== request.binaries.majorVersion) {
    const ours = request.binaries.majorVersion
    throw new AppError(
      'unavailable',
      `${cluster} was created by PostgreSQL ${found}, but this Signalbox includes PostgreSQL ${ours}`,
    )
  }
  return cluster
}

/** Deletes what starts left that were killed while they created the cluster. */
async function deleteUnfinished(home: string): Promise<void> {
  for (const name of await readdir(home))
    if (name.startsWith(UNFINISHED))
      await rm(join(home, name), { recursive: true, force: true }).catch((error: NodeJS.ErrnoException) => {
        // The initdb of the killed start still writes there. It deletes its folder when it ends, or else the next start does.
        if (error.code !== 'ENOTEMPTY') throw error
      })
}

async function readVersion(cluster: string): Promise<number | null> {
  const content = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch(nullIfMissing)
  return content === null ? null : Number.parseInt(content, 10)
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

async function initialize({ launch, binaries, home, durable }: ClusterRequest, cluster: string): Promise<void> {
  // A name of its own: the initdb of a start that was killed ends a second later, and then deletes its folder.
  const unfinished = join(home, `${UNFINISHED}${randomUUID().slice(0, 8)}`)
  const child = launchProgram(launch, [
    binaries.initdb,
    `--pgdata=${unfinished}`,
    `--username=${SUPERUSER}`,
    '--auth=peer',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
    ...(durable ? [] : ['--no-sync']),
  ])
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const [complaint, , code] = await Promise.all([text(child.stderr), text(child.stdout), ended])
  if (code !== 0) throw new AppError('unavailable', `initdb failed: ${firstError(complaint)}`)
  await rename(unfinished, cluster)
  if (durable) await sync(home)
}

function firstError(complaint: string): string {
  const lines = complaint.split('\n')
  return lines.find((line) => /error|FATAL/.test(line)) ?? lines.find((line) => line !== '') ?? 'no reason given'
}
