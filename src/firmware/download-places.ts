import type { Readable } from 'node:stream'
import { tooManyRequests } from '../platform/errors.ts'
import type { DownloadTicket } from './download-url.ts'

/** A device needs one; the others are for those of its connections that broke without our notice. */
const PLACES = 4
const RETRY_AFTER_S = 10

/** Bounds the responses under way for each command: each holds a file open, and whoever has the address may ask. */
export interface DownloadPlaces {
  /** Holds a place from now until the body that `begin` makes is closed. @throws AppError rate_limited without one. */
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
