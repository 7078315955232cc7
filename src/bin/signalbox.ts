import { exitCodes } from '../client/exit-codes.ts'
import { runProgram } from '../client/program.ts'

process.once('SIGINT', () => process.exit(exitCodes.interrupted.code))
// A reader such as `head` may close the pipe early.
process.stdout.on('error', () => process.exit(exitCodes.done.code))

process.exitCode = await runProgram(process.argv.slice(2), {
  terminal: { stdout: process.stdout, stderr: process.stderr },
  env: process.env,
})
