import type { ServerResponse } from 'node:http'

/** The operations that run or have run, by their responses. */
const operations = new WeakMap<ServerResponse, Promise<unknown>>()

/** Notes the operation of a request. */
export function noteOperation(response: ServerResponse, operation: Promise<unknown>): void {
  operations.set(response, operation)
}

/**
 * Calls `end` when a request is over: its answer has been sent, or its client has left, and its operation has ended. An
 * operation goes on without its client, so whoever leaves early would otherwise have any number of them at a time.
 * @returns A function that prevents the call.
 */
export function onceOver(response: ServerResponse, end: () => void): () => void {
  let isPrevented = false
  const endOnce = (): void => {
    if (!isPrevented) end()
    isPrevented = true
  }
  const close = (): void => {
    const operation = operations.get(response)
    if (operation === undefined) endOnce()
    else void operation.then(endOnce, endOnce)
  }
  response.once('close', close)
  return () => {
    isPrevented = true
    response.off('close', close)
  }
}
