import { type Logger, pino, stdSerializers } from 'pino'

export type { Logger } from 'pino'
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** The receiver of a log's lines. */
export interface LogOutput {
  write(line: string): void
}

/** Opens standard error: standard output belongs to the results of commands. */
export function openLogOutput(): LogOutput {
  return pino.destination({ fd: 2, sync: false })
}

/** Writes JSON lines. */
export function createLog(level: LogLevel, output: LogOutput = openLogOutput()): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: plainError } }, output)
}

/** An error of pg carries its whole client, kilobytes of useless state. */
function plainError(error: Error): Record<string, unknown> {
  const { client: _, ...plain } = stdSerializers.err(error)
  return plain
}
