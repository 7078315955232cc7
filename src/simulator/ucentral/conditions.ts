/** Lets callers wait for conditions, which are checked after each change instead of at intervals. */
export interface Conditions {
  /** Reports a change; all conditions are checked soon afterwards. */
  readonly changed: () => void
  /** @throws Error when the condition does not hold within the time, or when `end` is called first. */
  until(holds: () => boolean, timeoutMs: number): Promise<void>
  end(why: string): void
}

interface Waiting {
  readonly holds: () => boolean
  readonly timer: NodeJS.Timeout
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export function createConditions(): Conditions {
  const waiting = new Set<Waiting>()
  let lookAhead: NodeJS.Immediate | null = null

  function settle(one: Waiting, settleIt: () => void): void {
    clearTimeout(one.timer)
    waiting.delete(one)
    settleIt()
  }

  function look(): void {
    lookAhead = null
    for (const one of waiting) if (one.holds()) settle(one, one.resolve)
  }

  return {
    changed() {
      // Thousands of devices may change in one turn of the event loop; one check serves them all.
      if (waiting.size > 0) lookAhead ??= setImmediate(look)
    },
    until(holds, timeoutMs) {
      if (holds()) return Promise.resolve()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const expire = (): void => settle(one, () => reject(new Error(`not within ${timeoutMs} ms`)))
      const one: Waiting = { holds, timer: setTimeout(expire, timeoutMs), resolve, reject }
      waiting.add(one)
      return promise
    },
    end(why) {
      for (const one of waiting) settle(one, () => one.reject(new Error(why)))
    },
  }
}
