/** The meaning of the exit codes of the command line. The reference page and the tests are generated from it. */
export const exitCodes = {
  done: { code: 0, meaning: 'done' },
  failed: { code: 1, meaning: 'a fault of the program' },
  usage: { code: 2, meaning: 'the command is wrong: an unknown option, a missing argument, a name that nothing has' },
  signedOut: { code: 3, meaning: 'not signed in, or the token is no longer valid' },
  refused: { code: 4, meaning: 'the server refused the request, and changed nothing' },
  unavailable: { code: 5, meaning: 'the server does not answer, or has a fault' },
  upgradeFailed: { code: 6, meaning: 'the upgrade ended, and not every device was upgraded' },
  interrupted: { code: 130, meaning: 'interrupted by Ctrl-C' },
} as const

export type Outcome = keyof typeof exitCodes

/** Ends a command with a line for the person who runs it. */
export class CommandError extends Error {
  readonly outcome: Outcome
  /** That of the answer that refused a request; null: there was none. */
  readonly status: number | null

  constructor(outcome: Outcome, message: string, status: number | null = null) {
    super(message)
    this.outcome = outcome
    this.status = status
  }
}
