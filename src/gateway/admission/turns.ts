import { byTime, createSlices } from '../../platform/queues/slices.ts'

/** Runs the work of many sessions in slices, so that the event loop serves others in between. */
export interface Turns {
  /** Runs the work when its turn has come and resolves with its result. Turns follow the order of the calls. */
  run<T>(work: () => T): Promise<T>
}

/** The length of a slice, which delays commands; a single piece of work may take longer. */
const SLICE_MS = 2

export function createTurns(now: () => number): Turns {
  const slices = createSlices({ limit: SLICE_MS, spend: byTime(now) })
  return {
    run: (work) =>
      new Promise((resolve, reject) => {
        slices.run(() => {
          try {
            resolve(work())
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)))
          }
        })
      }),
  }
}
