import { readdirSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { loweredNiceness } from './lowered-niceness.ts'

/**
 * Lowers the priority of this process, so that it yields the processors to others. Linux has a priority for each thread,
 * and a new thread gets that of the one that starts it; those of Node exist already when a program begins.
 */
export function lowerOwnProcess(): void {
  const niceness = loweredNiceness(getPriority())
  lower(process.pid, niceness)
  try {
    for (const id of readdirSync('/proc/self/task')) lower(Number(id), niceness)
  } catch {
    // Another system than Linux, where the process has one priority.
  }
}

function lower(id: number, niceness: number): void {
  try {
    setPriority(id, niceness)
  } catch {
    // The thread has ended, or the system forbids it: it keeps the usual priority.
  }
}
