/** Runs work of many connections, a bounded number of pieces in each turn of the event loop. */
export interface Spread {
  /** Runs the work after the input of this turn, or in a later turn, in the order of the calls. */
  run(work: () => void): void
}

export function spreadOverTurns(perTurn: number): Spread {
  const waiting: (() => void)[] = []
  let next: NodeJS.Immediate | null = null

  function proceed(): void {
    next = null
    const due = waiting.splice(0, perTurn)
    if (waiting.length > 0) schedule()
    for (const work of due) work()
  }

  function schedule(): void {
    next ??= setImmediate(proceed)
  }

  return {
    run(work) {
      waiting.push(work)
      schedule()
    },
  }
}
