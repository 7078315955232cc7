import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Logger } from '../log.ts'

const run = promisify(execFile)

const POLL_MS = 10

/** Fast shutdown, then without a checkpoint, then none at all. */
const STOP_STEPS = [
  { signal: 'SIGINT', waitMs: 10_000 },
  { signal: 'SIGQUIT', waitMs: 5000 },
  { signal: 'SIGKILL', waitMs: 5000 },
] as const

/**
 * Stops the postmaster that an earlier run left on this cluster. The caller has locked the data folder, so a postmaster
 * that runs there is an orphan.
 * @returns The process id of its pid file if an unrelated process (or a zombie) has it now, which PostgreSQL must know;
 *   else null.
 */
export async function stopOrphan(cluster: string, log: Logger): Promise<number | null> {
  const pid = await readPostmasterPid(cluster)
  if (pid === null || !isAlive(pid)) return null
  if (!(await isPostmasterOf(pid, cluster))) return pid
  log.info({ pid }, 'waiting for the database of an earlier run to stop')
  for (const { signal, waitMs } of STOP_STEPS) {
    signalIfAlive(pid, signal)
    const deadline = performance.now() + waitMs
    while (performance.now() < deadline) {
      if (!isAlive(pid)) return null
      // A zombie stays "alive" until its parent reaps it, perhaps never, but has no command line.
      if (!(await isPostmasterOf(pid, cluster))) return pid
      await delay(POLL_MS)
    }
  }
  return null
}

async function readPostmasterPid(cluster: string): Promise<number | null> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number.parseInt(text, 10)
  return Number.isInteger(pid) && pid > 0 ? pid : null
}

async function isPostmasterOf(pid: number, cluster: string): Promise<boolean> {
  return (await readCommandLine(pid)).includes(cluster)
}

async function readCommandLine(pid: number): Promise<readonly string[]> {
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return text.split('\0')
  }
  const { stdout } = await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }))
  // The arguments arrive joined; the folder is between the first two options that this module passes.
  return stdout.split(/ -D | -c /)
}

function isAlive(pid: number): boolean {
  return signalIfAlive(pid, 0)
}

function signalIfAlive(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
