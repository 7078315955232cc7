import { runCli } from '../cli/program.ts'
import { CommandError } from '../client/exit-codes.ts'
import { AppError } from '../platform/errors.ts'

runCli(process.argv.slice(2)).catch((error: unknown) => {
  const isOfPeople = error instanceof AppError || error instanceof CommandError
  const line = isOfPeople ? error.message : error instanceof Error ? error.stack : String(error)
  process.stderr.write(`signalbox: ${line}\n`)
  process.exitCode = 1
})
