import type { ServerResponse } from 'node:http'
import { AppError } from '../../../platform/errors.ts'
import { hiddenProperty } from '../../../platform/hidden-property.ts'

/**
 * What a request was when it ended: the whole operation, a refusal, or neither, because its client left before the
 * operation began.
 */
export type Outcome = 'whole' | 'refused' | 'cut'

interface Work {
  readonly ended: Promise<unknown>
  readonly isOperation: boolean
}

/** What runs or has run last for requests, by their responses. */
const works = hiddenProperty<ServerResponse, Work>('work')

/** Notes that the credentials of a request are being checked. */
export function noteCheck(response: ServerResponse, check: Promise<unknown>): void {
  works.set(response, { ended: check, isOperation: false })
}

/** Notes the operation of a request. */
export function noteOperation(response: ServerResponse, operation: Promise<unknown>): void {
  works.set(response, { ended: operation, isOperation: true })
}

/**
 * Calls `end` when a request is over: its answer has been sent, or its client has left, and its operation has ended. The
 * check of credentials and the operation go on without the client, so a client that leaves early could otherwise have
 * any number of them at a time. No operation begins after the client has left, see assertStays().
 * @returns A function that prevents the call.
 */
export function onceOver(response: ServerResponse, end: (outcome: Outcome) => void): () => void {
  let isPrevented = false
  const endOnce = (outcome: Outcome): void => {
    if (!isPrevented) end(outcome)
    isPrevented = true
  }
  const close = (): void => {
    const { ended, isOperation } = works.get(response) ?? {}
    const endAs = (outcome: Outcome) => () => endOnce(isOperation === true ? outcome : 'cut')
    if (ended === undefined) endOnce('cut')
    else void ended.then(endAs('whole'), endAs('refused'))
  }
  response.once('close', close)
  return () => {
    isPrevented = true
    response.off('close', close)
  }
}

/** @throws AppError rate_limited if the client has left: nobody counts what begins after that. */
export function assertStays(response: ServerResponse): void {
  if (response.closed) throw hasLeft()
}

export function hasLeft(): AppError {
  return new AppError('rate_limited', 'The client left while it waited for its turn')
}
