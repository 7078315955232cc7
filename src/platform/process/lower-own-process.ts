import { readdirSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { loweredNiceness } from './lowered-niceness.ts'

/**
 * Lowers the priority of this process, so that it yields the processors to others. Linux has a priority for each thread,
 * and a new thread gets that of the one that starts it; those of Node exist already when a program begins.
 */
export function lowerOwnProcess(): void {
  try {
    const niceness = loweredNiceness(getPriority())
    setPriority(niceness)
    for (const id of readdirSync('/proc/self/task')) setPriority(Number(id), niceness)
  } catch {
    // Another system, or one that forbids it: it keeps the usual priority.
  }
}
