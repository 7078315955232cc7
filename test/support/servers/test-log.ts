import { LATE_STOP } from '../../../src/platform/time/late-stop.ts'
import { type LogLevel, type Logger, createLog } from '../../../src/platform/log.ts'

/** Shows only what a stop waits for that takes long, so that a test that fails by its time limit names the part. */
const lateStops = {
  write(line: string): void {
    if (line.includes(LATE_STOP)) process.stderr.write(line)
  },
}

/** Creates the log of parts under test. TEST_LOG is the level from which everything is shown. */
export function createTestLog(): Logger {
  const level = process.env['TEST_LOG']
  return level === undefined ? createLog('warn', lateStops) : createLog(level as LogLevel)
}
