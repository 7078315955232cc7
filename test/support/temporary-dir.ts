import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Creates a folder that is deleted after the test. */
export async function temporaryDir(): Promise<string> {
  const path = await mkdtemp(join(await realpath(tmpdir()), 'signalbox-case-'))
  onTestFinished(() => rm(path, { recursive: true, force: true, maxRetries: 10 }))
  return path
}
