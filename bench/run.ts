import { rmSync } from 'node:fs'
import { runMeasurement } from '../scripts/run-measurement.ts'
import { createLog } from '../src/platform/log.ts'
import { makeRunDir } from '../test/support/servers/run-dir.ts'

// All files are in one folder: a benchmark that is killed can't delete its own, so the next run does.
const { path } = await makeRunDir(createLog('error'), 'disk')
process.env['TMPDIR'] = path
process.once('exit', () => rmSync(path, { recursive: true, force: true, maxRetries: 10 }))

await runMeasurement(import.meta.dirname, 'benchmark')
