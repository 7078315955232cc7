import type { Context } from '../platform/context.ts'
import { type GatherOptions, type Gatherer, createGatherer } from '../platform/queues/gather.ts'

export interface FactsOptions<T> extends Pick<GatherOptions<T>, 'name' | 'write' | 'bytesOf' | 'spacing'> {
  /** Identifies a fact in the log. */
  readonly idOf: (fact: T) => object
}

const batch = { count: 500, bytes: 4 * 1024 * 1024 }

/**
 * Gathers facts that must reach the database in order, however long that takes, because they are never reported again.
 * The number of devices limits theirs: while the database is unreachable, no device gets a command or a session.
 */
export function gatherFacts<T>(ctx: Context, { idOf, ...options }: FactsOptions<T>): Gatherer<T> {
  return createGatherer<T>({
    ...options,
    log: ctx.log,
    batch,
    keepsTrying: true,
    onRefused(fact, error) {
      ctx.log.error(
        { err: error, what: options.name, ...idOf(fact) },
        'the database refused what a device did; it is lost',
      )
    },
  })
}
