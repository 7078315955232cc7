import { readFile, readdir } from 'node:fs/promises'
import { getPriority, setPriority } from 'node:os'
import { loweredNiceness } from './lowered-niceness.ts'

/** Node names the threads of its pool so. */
const HELPER = 'libuv-worker'

/**
 * Lowers the priority of the threads in which Node hashes passwords, compresses, and reads and writes files, so that they
 * yield the processors to the threads that answer clients and devices. Linux only.
 */
export async function lowerHelperThreads(): Promise<void> {
  const niceness = loweredNiceness(getPriority())
  try {
    // This call has started them.
    const ids = await readdir('/proc/self/task')
    const names = await Promise.all(ids.map((id) => readFile(`/proc/self/task/${id}/comm`, 'utf8').catch(() => '')))
    for (const [index, id] of ids.entries()) if (names[index]?.trim() === HELPER) setPriority(Number(id), niceness)
  } catch {
    // Another system, or one that forbids it: they keep the usual priority.
  }
}
