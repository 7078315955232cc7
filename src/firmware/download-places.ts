import type { Readable } from 'node:stream'
import { tooManyRequests } from '../platform/errors.ts'
import type { DownloadTicket } from './download-url.ts'

/** A device needs one place; the others cover its connections that broke without our notice. */
const PLACES = 4
const RETRY_AFTER_S = 10

/**
 * Limits the responses in progress for each command: each one holds a file open, and anybody who has the address may
 * ask.
 */
export interface DownloadPlaces {
  /**
   * Occupies a place until the body that `begin` returns is closed. @throws AppError rate_limited where none is free.
   */
  within(ticket: DownloadTicket, begin: () => Promise<Readable>): Promise<Readable>
}

export function createDownloadPlaces(): DownloadPlaces {
  const taken = new Map<string, number>()
  const leave = (commandId: string): void => {
    const left = (taken.get(commandId) ?? 1) - 1
    if (left === 0) taken.delete(commandId)
    else taken.set(commandId, left)
  }
  return {
    async within({ commandId }, begin) {
      const before = taken.get(commandId) ?? 0
      if (before >= PLACES) throw tooManyRequests('This image is being downloaded already.', RETRY_AFTER_S)
      taken.set(commandId, before + 1)
      try {
        const body = await begin()
        body.once('close', () => leave(commandId))
        return body
      } catch (error) {
        leave(commandId)
        throw error
      }
    },
  }
}
