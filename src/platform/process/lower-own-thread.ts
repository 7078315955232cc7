import { readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { getPriority, setPriority } from 'node:os'
import { loweredNiceness } from './lowered-niceness.ts'

/** Lowers the priority of the calling thread, so that it yields the processors to the others. Linux only. */
export function lowerOwnThread(): void {
  try {
    // A link to PID/task/ID.
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), loweredNiceness(getPriority()))
  } catch {
    // Another system, or one that forbids it: it keeps the usual priority.
  }
}
