/** Notices that a connection has died without an end, as by a route that was dropped. */
export interface SilenceWatch {
  /** Notes that the connection was established, or that a message has arrived. */
  readonly heard: () => void
  readonly stop: () => void
}

interface SilenceParts {
  /** Asks the other side for an answer. */
  readonly ask: () => void
  readonly onSilent: () => void
  /** @returns A function that cancels it. */
  readonly schedule: (run: () => void, ms: number) => () => void
}

const QUIET_MS = 20_000
/** More than a busy server needs. */
const ANSWER_MS = 10_000

/** Watches a connection from its attempt on. */
export function watchSilence({ ask, onSilent, schedule }: SilenceParts): SilenceWatch {
  let cancel = schedule(onSilent, ANSWER_MS)
  return {
    heard() {
      cancel()
      cancel = schedule(() => {
        ask()
        cancel = schedule(onSilent, ANSWER_MS)
      }, QUIET_MS)
    },
    stop: () => cancel(),
  }
}
