import type { LogOutput } from '../../../src/platform/log-output.ts'

/** The level of errors in the lines of the log. */
const ERROR = 50

/**
 * Shows the errors of the tests' database server, and every deadlock with its statements. Nothing else shows a
 * deadlock if the part under test tries again.
 */
export function deadlockLog(show: (line: string) => void): LogOutput {
  let isWithin = false
  return {
    write(line) {
      const { level, msg } = JSON.parse(line) as { readonly level: number; readonly msg: string }
      if (/^ERROR: +deadlock detected/.test(msg)) isWithin = true
      if (isWithin || level >= ERROR) show(`database: ${msg}\n`)
      // The report ends with the statement that has failed.
      if (msg.startsWith('STATEMENT:')) isWithin = false
    },
  }
}
