import type { FastifyReply, FastifyRequest } from 'fastify'
import { accountOf } from '../access/request-limits.ts'
import { type Context, contextWith } from '../platform/context.ts'
import type { Operation } from './operation.ts'
import { createLender } from './turns/accounts/lender.ts'

/** Runs an operation for a request that has been authenticated and checked. @returns The answer, not yet encoded. */
export type RunOperation = (operation: Operation, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/**
 * Reads, and some changes, of an account that uses more than its share run on a connection of low priority.
 * @throws Error for an operation that updates a record that none of the operations reads.
 */
export function createRunOperation(ctx: Context, operations: readonly Operation[]): RunOperation {
  const heavy = createLender(ctx.heavyDbs.map((db) => contextWith(ctx, db)))
  const readers = new Map(operations.filter(({ method }) => method === 'GET').map(({ at, run }) => [at.path, run]))
  for (const { id, updates, at } of operations)
    if (updates !== null && !updates.isReadHere && !readers.has(at.path))
      throw new Error(`${id} updates a ${updates.name} that nothing reads`)
  return async ({ method, locksOnlyItsRecord, at, run }, request, reply) => {
    // Most changes lock rows for which others may wait, so they keep the usual priority.
    const mayYield = method === 'GET' || locksOnlyItsRecord
    const lent = mayYield && request.isHeavy ? heavy.claim(accountOf(request.caller.principal)) : undefined
    return run(lent?.value ?? ctx, request, reply, readers.get(at.path)).finally(lent?.release)
  }
}
