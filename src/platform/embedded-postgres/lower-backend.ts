import { readFile, writeFile } from 'node:fs/promises'
import { getPriority, setPriority } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { loweredNiceness } from '../process/lowered-niceness.ts'

/** Linux lets only a system administrator change groups more often than every 100 ms. */
const AGAIN_MS = 110
/** Other programs change groups as well, such as shells. */
const ATTEMPTS = 20

/** Two changes at a time would hinder each other. */
let previous = Promise.resolve()

/**
 * Lowers the priority of a process of the embedded PostgreSQL below that of this process. It begins a session of its own,
 * to which Linux may give as much of a processor as to the whole server (`sched_autogroup_enabled`), so the priority of
 * that group is lowered as well.
 * @param pid The process behind a connection.
 */
export function lowerBackend(pid: number): Promise<void> {
  previous = previous.then(async () => {
    try {
      setPriority(pid, loweredNiceness(getPriority()))
      await lowerGroup(pid)
    } catch {
      // The system forbids it or has no such groups, or the process has ended. Then it works at the usual priority.
    }
  })
  return previous
}

async function lowerGroup(pid: number): Promise<void> {
  const niceness = loweredNiceness(await ownGroupNiceness())
  for (let left = ATTEMPTS; ; left -= 1) {
    try {
      return await writeFile(`/proc/${pid}/autogroup`, String(niceness))
    } catch (error) {
      if (left === 1 || !isTooOften(error)) throw error
    }
    await setTimeout(AGAIN_MS, undefined, { ref: false })
  }
}

function isTooOften(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN'
}

async function ownGroupNiceness(): Promise<number> {
  return Number(/nice (-?\d+)/.exec(await readFile('/proc/self/autogroup', 'utf8'))?.[1] ?? 0)
}
