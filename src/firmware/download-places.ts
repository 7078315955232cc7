import type { Readable } from 'node:stream'
import { AppError, tooManyRequests } from '../platform/errors.ts'
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

export function createDownloadPlaces({ atOnce, waitMs }: Pick<DownloadLimits, 'atOnce' | 'waitMs'>): DownloadPlaces {
  const ofCommands = createPlacesOfCommands()
  const turns = createTurns(atOnce, waitMs)
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
function createTurns(atOnce: number, waitMs: number): () => Promise<() => void> {
  let running = 0
  const waiting = new Set<() => void>()
  const leave = (): void => {
    const [next] = waiting
    if (next === undefined) running -= 1
    else next()
  }
  return async () => {
    if (running < atOnce) running += 1
    else if (waiting.size >= MAX_WAITING) throw noPlace()
    else await waitForTurn(waiting, waitMs)
    return leave
  }
}

function waitForTurn(waiting: Set<() => void>, waitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.delete(next)
      reject(noPlace())
    }, waitMs)
    const next = (): void => {
      clearTimeout(timer)
      waiting.delete(next)
      resolve()
    }
    waiting.add(next)
  })
}

function noPlace(): AppError {
  return new AppError('unavailable', 'Too many devices download at once: try again soon', {}, RETRY_AFTER_S)
}
