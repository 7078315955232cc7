import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { tooManyRequests } from '../../../platform/errors.ts'

/** Large answers of all accounts that their clients have not accepted yet. They are in memory until then. */
export interface UnreadAnswers {
  /** @throws AppError rate_limited if there is no room for `bytes` more, and no account has more than this one. */
  assertRoom(account: string, bytes: number): void
  /**
   * Counts an answer until its client has accepted it or has left. Without room for it, connections of the account with
   * most unread bytes are closed, first those that have waited longest.
   */
  add(account: string, response: ServerResponse, bytes: number): void
}

interface Holder {
  bytes: number
  /** In the order in which they were passed to their sockets. */
  readonly answers: Map<ServerResponse, number>
}

export function createUnreadAnswers(maxBytes: number): UnreadAnswers {
  const holders = new Map<string, Holder>()
  let totalBytes = 0

  const hasRoomFor = (bytes: number): boolean => totalBytes + bytes <= maxBytes

  function findLargest(): string | undefined {
    let largest: string | undefined
    let most = 0
    for (const [account, { bytes }] of holders) if (bytes > most) [largest, most] = [account, bytes]
    return largest
  }

  function remove(account: string, response: ServerResponse): void {
    const holder = holders.get(account)
    const bytes = holder?.answers.get(response)
    if (holder === undefined || bytes === undefined) return
    holder.answers.delete(response)
    holder.bytes -= bytes
    totalBytes -= bytes
    if (holder.answers.size === 0) holders.delete(account)
  }

  /** Closes a connection, with all answers that wait for it: a client may send requests before it reads answers. */
  function close(account: string, socket: Socket): void {
    for (const response of holders.get(account)?.answers.keys() ?? [])
      if (response.req.socket === socket) remove(account, response)
    socket.destroy()
  }

  return {
    assertRoom(account, bytes) {
      const held = holders.get(account)?.bytes ?? 0
      if (hasRoomFor(bytes) || held === 0) return
      if (held >= (holders.get(findLargest() ?? '')?.bytes ?? 0))
        throw tooManyRequests('The answers to earlier requests have not been read.', 1)
    },
    add(account, response, bytes) {
      const holder = holders.get(account) ?? { bytes: 0, answers: new Map() }
      holders.set(account, holder)
      holder.answers.set(response, bytes)
      holder.bytes += bytes
      totalBytes += bytes
      response.once('finish', () => remove(account, response)).once('close', () => remove(account, response))
      while (!hasRoomFor(0)) {
        const largest = findLargest() ?? account
        const [oldest] = holders.get(largest)?.answers.keys() ?? []
        if (oldest === undefined) return
        close(largest, oldest.req.socket)
      }
    },
  }
}
