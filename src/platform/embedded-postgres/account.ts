import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'
import { AppError } from '../errors.ts'

const run = promisify(execFile)

/** The user and group that own a cluster and run its processes. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** The usual 'nobody', if the user database can't be queried. */
const NOBODY: Account = { uid: 65534, gid: 65534 }

/**
 * Chooses the owner of the cluster in `home`. PostgreSQL refuses to run as root, so root acts for the owner of an
 * existing cluster, who can then start it later, else for 'nobody'. Null: the user of this process.
 * @throws AppError `unavailable` when the cluster belongs to another user and this process is not root, and for a user without a name.
 */
export async function chooseAccount(dataDir: string, home: string): Promise<Account | null> {
  const own = process.getuid?.()
  const owner = await stat(home).catch(() => null)
  if (own !== 0) {
    if (owner !== null && own !== undefined && owner.uid !== own)
      throw new AppError('unavailable', `${home} belongs to user ${owner.uid}: start as that user or as root`)
    if (hasOwnName()) return null
    throw new AppError(
      'unavailable',
      `PostgreSQL refuses user ${own}, who has no name in the user database (/etc/passwd): add one, start as another user, or set SIGNALBOX_DATABASE_URL`,
    )
  }
  if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const folder = await stat(dataDir)
  if (folder.uid !== 0 && (await hasName(folder.uid))) return { uid: folder.uid, gid: folder.gid }
  return findNobody()
}

/** Returns the account for services without a dedicated one. */
export async function findNobody(): Promise<Account> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', 'nobody']), run('id', ['-g', 'nobody'])])
    // macOS prints its nobody as -2.
    return { uid: Number(uid.stdout) >>> 0, gid: Number(gid.stdout) >>> 0 }
  } catch {
    return NOBODY // There is no such name, or no `id` program.
  }
}

function hasOwnName(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}

/** initdb refuses a user that the user database does not know. */
async function hasName(uid: number): Promise<boolean> {
  return run('id', ['-nu', String(uid)]).then(
    () => true,
    () => false,
  )
}
