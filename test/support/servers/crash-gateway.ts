import { existsSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

// Preloaded into every thread of a server. The gateway's thread ends with an unhandled error once the file exists.

const file = process.env['SIGNALBOX_TEST_CRASH_FILE'] ?? ''
if (!isMainThread)
  setInterval(() => {
    if (existsSync(file)) throw new Error('a defect of the test')
  }, 20)
