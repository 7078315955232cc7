import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Registers a function to run at the end of the caller's scope: `onTestFinished` in a test, `afterFile` in a hook of the file. */
export type AtEnd = (end: () => Promise<void>) => void

/** Creates a folder that is deleted after the test, or by `atEnd`. */
export async function temporaryDir(atEnd: AtEnd = onTestFinished): Promise<string> {
  const path = await mkdtemp(join(await realpath(tmpdir()), 'signalbox-case-'))
  atEnd(() => rm(path, { recursive: true, force: true, maxRetries: 10 }))
  return path
}
