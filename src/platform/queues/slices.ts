/** Runs pieces of work in the order of the calls, so many in each turn of the event loop that others have theirs in between. */
export interface Slices {
  run(work: Work): void
}

type Work = () => void

export interface SliceOptions {
  /** The most that the pieces of a turn spend together; the last one may exceed it. */
  readonly limit: number
  /** Runs a piece. @returns What it spends. */
  readonly spend: (work: Work) => number
  /** True: pieces for which the turn has room run when they come. Default: all run after the input of the turn. */
  readonly atOnce?: boolean
}

export function createSlices({ limit, spend, atOnce = false }: SliceOptions): Slices {
  const waiting: Work[] = []
  let turnEnd: NodeJS.Immediate | null = null
  let spent = 0

  function startTurn(): void {
    turnEnd = null
    spent = 0
    // Work that adds work does not prolong its turn.
    for (let left = waiting.length; left > 0 && spent < limit; left -= 1) runNext()
    if (waiting.length > 0 || (atOnce && spent > 0)) scheduleTurn()
  }

  function runNext(): void {
    const work = waiting.shift()
    if (work !== undefined) spent += spend(work)
  }

  function scheduleTurn(): void {
    turnEnd ??= setImmediate(startTurn)
  }

  return {
    run(work) {
      const hasRoom = atOnce && waiting.length === 0 && spent < limit
      waiting.push(work)
      scheduleTurn()
      if (hasRoom) runNext()
    },
  }
}

/** Each piece spends one. */
export function byNumber(work: Work): number {
  work()
  return 1
}

/** Each piece spends its time. @param now In milliseconds, as the limit. */
export function byTime(now: () => number): SliceOptions['spend'] {
  return (work) => {
    const startMs = now()
    work()
    return now() - startMs
  }
}
