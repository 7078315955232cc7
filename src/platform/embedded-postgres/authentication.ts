import { chown, rename, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { Account } from './account.ts'
import { SUPERUSER } from './cluster.ts'

const MAP = 'signalbox'

/**
 * Writes the files that admit only the user of this process, whom the kernel names to PostgreSQL, to the roles that
 * this process uses. They are written at each start, because the next one may be by another user.
 * @param roles The roles besides the superuser's.
 * @returns Settings of the server that name the files.
 */
export async function writeAuthentication(
  home: string,
  account: Account | null,
  roles: readonly string[],
): Promise<{ readonly hba_file: string; readonly ident_file: string }> {
  const user = quote(userInfo().username)
  const lines = [SUPERUSER, ...roles].map((role) => `${MAP} ${user} ${role}\n`)
  return {
    hba_file: await write(join(home, 'pg_hba.conf'), `local all all peer map=${MAP}\n`, account),
    ident_file: await write(join(home, 'pg_ident.conf'), lines.join(''), account),
  }
}

async function write(path: string, content: string, account: Account | null): Promise<string> {
  const unfinished = `${path}.new`
  await writeFile(unfinished, content, { mode: 0o600 })
  if (account !== null) await chown(unfinished, account.uid, account.gid)
  await rename(unfinished, path)
  return path
}

/** Without quotes, some names would be keywords, patterns or comments. */
function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
