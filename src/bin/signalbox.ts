import { exitCodes } from '../client/exit-codes.ts'
import { runProgram } from '../client/program.ts'

/** The time for commands that handle the interruption. */
const END_WITHIN_MS = 200

const interrupted = new AbortController()
process.once('SIGINT', () => {
  interrupted.abort()
  setTimeout(() => process.exit(exitCodes.interrupted.code), END_WITHIN_MS).unref()
})
// A reader such as `head` may close the pipe early.
process.stdout.on('error', () => process.exit(exitCodes.done.code))

process.exitCode = await runProgram(process.argv.slice(2), {
  terminal: { stdout: process.stdout, stderr: process.stderr },
  env: process.env,
  interrupted: interrupted.signal,
})
