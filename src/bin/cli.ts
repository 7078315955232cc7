import { runCli } from '../cli/program.ts'
import { AppError } from '../platform/errors.ts'

runCli(process.argv.slice(2)).catch((error: unknown) => {
  const line = error instanceof AppError ? error.message : error instanceof Error ? error.stack : String(error)
  process.stderr.write(`signalbox: ${line}\n`)
  process.exitCode = 1
})
