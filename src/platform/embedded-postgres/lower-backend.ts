import { readFile, writeFile } from 'node:fs/promises'
import { constants, getPriority, setPriority } from 'node:os'

/** By how much: as for the decoders of pictures. */
const NICENESS = 10

/**
 * Lowers the priority of a process of the embedded PostgreSQL below that of this process. It begins a session of its own,
 * to which Linux may give as much of a processor as to the whole server (`sched_autogroup_enabled`), so the priority of
 * that group is lowered as well.
 * @param pid The process behind a connection.
 */
export async function lowerBackend(pid: number): Promise<void> {
  try {
    setPriority(pid, lower(getPriority()))
    await writeFile(`/proc/${pid}/autogroup`, String(lower(await ownGroupNiceness())))
  } catch {
    // The system forbids it or has no such groups, or the process has ended. Then it works at the usual priority.
  }
}

function lower(niceness: number): number {
  return Math.min(niceness + NICENESS, constants.priority.PRIORITY_LOW)
}

async function ownGroupNiceness(): Promise<number> {
  return Number(/nice (-?\d+)/.exec(await readFile('/proc/self/autogroup', 'utf8'))?.[1] ?? 0)
}
