import { type Logger, pino, stdSerializers } from 'pino'

export type { Logger } from 'pino'
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** Writes JSON lines to standard error: standard output belongs to the results of commands. */
export function createLog(level: LogLevel): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: plainError } },
    pino.destination({ fd: 2, sync: false }),
  )
}

/** An error of pg carries its whole client, kilobytes of useless state. */
function plainError(error: Error): Record<string, unknown> {
  const { client: _, ...plain } = stdSerializers.err(error)
  return plain
}
