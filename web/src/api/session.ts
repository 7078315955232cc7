import { Problem } from './problem.ts'

/** Who uses the page, by which session, and whether that has ended. */
export interface PageSession {
  /** Notes whose pages are shown from now on. */
  readonly begin: (person: string) => void
  /** Notes that no page of a person is shown any more. */
  readonly leave: () => void
  /** Returns how often the page has begun or gone on with a new session. */
  readonly renewals: () => number
  /** Notes that the server has refused the session. @param asked What renewals() returned when the request was sent. */
  readonly end: (asked: number) => void
  /** Looks whether the browser has another session by now, and whose. */
  readonly check: () => Promise<void>
  readonly isEnded: () => boolean
  /** Returns the token that changes are sent with. */
  readonly token: () => string | null
  /**
   * Calls `onChange` when the session has ended, and when the page goes on with a new one, also if it has not noticed any end.
   * @returns A function that ends the subscription.
   */
  readonly subscribe: (onChange: () => void) => () => void
}

interface PageSessionParts {
  /** Returns the token of the browser's session, which all of its tabs share; null without one. */
  readonly readToken: () => string | null
  /** Returns whose session the browser has. @throws Problem 401 if it is nobody's; another error if the server can't say it now. */
  readonly readPerson: () => Promise<string>
  /** Called when nothing of the page may stay: the browser has a session of another person, or the page is left without one. */
  readonly discard: () => void
}

export function createPageSession({ readToken, readPerson, discard }: PageSessionParts): PageSession {
  let person: string | null = null
  let token: string | null = null
  let renewals = 0
  let isEnded = false
  let checking: Promise<void> | null = null
  const listeners = new Set<() => void>()

  function setEnded(value: boolean): void {
    if (isEnded !== value) change(value)
  }

  function change(value: boolean): void {
    isEnded = value
    for (const listener of listeners) listener()
  }

  function end(asked: number): void {
    // A late refusal of the former session says nothing about the present one.
    if (person === null || asked !== renewals) return
    // Another tab may have signed in again since, which the server is asked.
    if (readToken() === token) setEnded(true)
    else void check()
  }

  function check(): Promise<void> {
    checking ??= compare().finally(() => {
      checking = null
    })
    return checking
  }

  async function compare(): Promise<void> {
    const found = readToken()
    if (person === null || found === token) return undefined
    const owner = found === null ? null : await readPerson().catch(nobodyIfRefused)
    // It is asked again later.
    if (owner === undefined || person === null) return undefined
    if (owner !== person) setEnded(true)
    if (owner === null) return undefined
    if (owner !== person) return discard()
    token = found
    renewals += 1
    // What was sent with the former session may be refused yet.
    change(false)
  }

  return {
    begin(given) {
      if (person === null) {
        token = readToken()
        renewals += 1
      }
      if (person !== null && person !== given) discard()
      else person = given
    },
    leave() {
      // The history of the browser would lead back to what the page has read.
      if (isEnded) discard()
      person = null
      setEnded(false)
    },
    renewals: () => renewals,
    end,
    check,
    isEnded: () => isEnded,
    // With that of the page, the server refuses what would be done in the name of somebody who has signed in in another tab.
    token: () => (person === null || isEnded ? readToken() : token),
    subscribe(onChange) {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
  }
}

/** The new session lacks its second factor, has ended, or is one of another server on the same host. */
function nobodyIfRefused(error: unknown): null | undefined {
  return error instanceof Problem && error.status === 401 ? null : undefined
}
