import type { Admission } from './admission.ts'

/** Admits the waiting connections of a port, a bounded number of them in each turn of the event loop. */
export interface TurnAdmission {
  /** Begins as many handshakes as this turn and the admission allow, and the others in later turns. */
  admit(): void
  /** Begins no more handshakes. */
  stop(): void
}

export interface TurnAdmissionOptions<T> {
  readonly now: () => number
  /** Called when the connection's turn has come. */
  readonly begin: (connection: T) => void
  /** Called for a connection that has waited for too long, or behind too many others. */
  readonly refuse: (connection: T) => void
}

/**
 * The handshakes of a port that begin in one turn of the event loop. The first messages of their peers have usually arrived,
 * and all of them are handled in the next turn.
 */
const BEGUN_PER_TURN = 16

export function admitByTurns<T>(
  admission: Admission<T>,
  { now, begin, refuse }: TurnAdmissionOptions<T>,
): TurnAdmission {
  let turnEnd: NodeJS.Immediate | null = null
  let begunInTurn = 0
  let isStopped = false

  function admit(): void {
    if (isStopped) return
    const { entered, refused } = admission.decide(now(), BEGUN_PER_TURN - begunInTurn)
    for (const connection of refused) refuse(connection)
    for (const connection of entered) begin(connection)
    begunInTurn += entered.length
    if (entered.length > 0) admitAfterTurn()
  }

  function admitAfterTurn(): void {
    turnEnd ??= setImmediate(() => {
      turnEnd = null
      begunInTurn = 0
      admit()
    })
  }

  return {
    admit,
    stop() {
      isStopped = true
      if (turnEnd !== null) clearImmediate(turnEnd)
    },
  }
}
