/** Runs pieces of work in the order of the calls, a limited part in each turn of the event loop, so that other work comes in between. */
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
  /** If more wait, the oldest runs whenever one comes, so that a turn reads no faster than it works. Default: any number waits. */
  readonly maxWaiting?: number
}

export function createSlices({ limit, spend, atOnce = false, maxWaiting = Infinity }: SliceOptions): Slices {
  const queue: Work[] = []
  /** Pieces of the queue that have run. They are removed once a turn: to remove the first of many moves all others. */
  let done = 0
  let turnEnd: NodeJS.Immediate | null = null
  let spent = 0

  const countWaiting = (): number => queue.length - done

  function startTurn(): void {
    turnEnd = null
    spent = 0
    // Work that adds work does not prolong its turn.
    for (let left = countWaiting(); left > 0 && spent < limit; left -= 1) runNext()
    queue.splice(0, done)
    done = 0
    if (queue.length > 0 || (atOnce && spent > 0)) scheduleTurn()
  }

  function runNext(): void {
    const work = queue[done]
    done += 1
    if (work !== undefined) spent += spend(work)
  }

  function scheduleTurn(): void {
    turnEnd ??= setImmediate(startTurn)
  }

  return {
    run(work) {
      const hasRoom = atOnce && countWaiting() === 0 && spent < limit
      queue.push(work)
      scheduleTurn()
      if (hasRoom || countWaiting() > maxWaiting) runNext()
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
