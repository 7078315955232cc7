import { type Logger, pino, stdSerializers } from 'pino'
import { type LogOutput, openLogOutput } from './log-output.ts'

export type { Logger } from 'pino'
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** Writes JSON lines. */
export function createLog(level: LogLevel, output: LogOutput = openLogOutput()): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: plainError } }, output)
}

/** An error of pg carries its whole client, kilobytes of useless state. */
function plainError(error: Error): Record<string, unknown> {
  const { client: _, ...plain } = stdSerializers.err(error)
  return plain
}
