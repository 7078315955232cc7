import type { Readable } from 'node:stream'
import { AppError, tooManyRequests } from '../../platform/errors.ts'
import type { DownloadLimits } from './download-limits.ts'
import type { DownloadTicket } from './download-url.ts'

/** A device needs one place; the others cover its connections that broke without our notice. */
const PLACES = 4
const RETRY_AFTER_S = 10
/** Requests that wait for a place; each costs an open connection. */
const MAX_WAITING = 10_000

/**
 * Limits the concurrent responses, per command and in total: each one keeps a file open, and anyone with the address
 * may request it.
 */
export interface DownloadPlaces {
  /**
   * Occupies a place until the body that `begin` returns is closed; waits for one for a while if the server has none.
   * @throws AppError rate_limited if the command has none left; unavailable if the server has none.
   */
  within(ticket: DownloadTicket, begin: () => Promise<Readable>): Promise<Readable>
}

/** @param onRefused Called when a request is refused because the server has no place. */
export function createDownloadPlaces(
  { atOnce, waitMs }: Pick<DownloadLimits, 'atOnce' | 'waitMs'>,
  onRefused: () => void,
): DownloadPlaces {
  const ofCommands = createPlacesOfCommands()
  const turns = createTurns(atOnce, waitMs, onRefused)
  return {
    async within({ commandId }, begin) {
      const leaveCommand = ofCommands(commandId)
      try {
        const endTurn = await turns()
        try {
          const body = await begin()
          body.once('close', () => {
            endTurn()
            leaveCommand()
          })
          return body
        } catch (error) {
          endTurn()
          throw error
        }
      } catch (error) {
        leaveCommand()
        throw error
      }
    },
  }
}

/** Returns a function that occupies a place of a command, and returns how to leave it. */
function createPlacesOfCommands(): (commandId: string) => () => void {
  const taken = new Map<string, number>()
  return (commandId) => {
    const before = taken.get(commandId) ?? 0
    if (before >= PLACES) throw tooManyRequests('This image is being downloaded already.', RETRY_AFTER_S)
    taken.set(commandId, before + 1)
    return () => {
      const left = (taken.get(commandId) ?? 1) - 1
      if (left === 0) taken.delete(commandId)
      else taken.set(commandId, left)
    }
  }
}

/** Returns a function that waits for a place of the server, and resolves with how to leave it. */
function createTurns(atOnce: number, waitMs: number, onRefused: () => void): () => Promise<() => void> {
  let running = 0
  const waiting = new Set<() => void>()
  const leave = (): void => {
    const [next] = waiting
    if (next === undefined) running -= 1
    else next()
  }
  return async () => {
    if (running < atOnce) running += 1
    else if (waiting.size >= MAX_WAITING || !(await waitForTurn(waiting, waitMs))) {
      onRefused()
      throw new AppError('unavailable', 'Too many devices download at once: try again soon', {}, RETRY_AFTER_S)
    }
    return leave
  }
}

/** Resolves with false if no place became free in time. */
function waitForTurn(waiting: Set<() => void>, waitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      waiting.delete(next)
      resolve(false)
    }, waitMs)
    const next = (): void => {
      clearTimeout(timer)
      waiting.delete(next)
      resolve(true)
    }
    waiting.add(next)
  })
}
