import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Registers a function that runs at the end of whatever a caller has started something for. */
export type AtEnd = (end: () => Promise<void>) => void

/** Creates a folder that is deleted after the test, or when `atEnd` says. */
export async function temporaryDir(atEnd: AtEnd = onTestFinished): Promise<string> {
  const path = await mkdtemp(join(await realpath(tmpdir()), 'signalbox-case-'))
  atEnd(() => rm(path, { recursive: true, force: true, maxRetries: 10 }))
  return path
}
