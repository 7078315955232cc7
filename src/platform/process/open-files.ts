import { readFile } from 'node:fs/promises'
import type { Logger } from '../log.ts'

/** Files, and connections of the database and of clients, that a server has open besides its devices. */
const BESIDES_DEVICES = 500
/** A limit below this many devices is worth a warning. */
const EXPECTED_DEVICES = 10_000

/**
 * Parses the limit on open files of the process from `/proc/self/limits`. Node.js raises its own limit to the hard one
 * when it starts, so the hard limit is the operator's setting.
 * @returns Null for no limit, and if the text contains none.
 */
export function parseOpenFilesLimit(limits: string): number | null {
  const [, soft] = /^Max open files\s+(\d+)\s/m.exec(limits) ?? []
  return soft === undefined ? null : Number(soft)
}

/** Returns how many devices can be connected at the same time: each is a connection, hence an open file. */
export function devicesWithin(openFiles: number): number {
  return Math.max(0, openFiles - BESIDES_DEVICES)
}

/** Warns at start about a limit that thousands of devices would reach. Without `/proc` the limit is unknown. */
export async function warnOfOpenFilesLimit(log: Logger): Promise<void> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const openFiles = parseOpenFilesLimit(limits)
  if (openFiles === null || devicesWithin(openFiles) >= EXPECTED_DEVICES) return
  log.warn(
    { openFiles, devices: devicesWithin(openFiles) },
    `The process may open ${openFiles} files, which is enough for about ${devicesWithin(openFiles)} devices; ` +
      'docs/operations.md says how to raise the limit',
  )
}
