import type { Context } from '../platform/context.ts'
import { type GatherOptions, type Gatherer, createGatherer } from '../platform/queues/gather.ts'
import { type UnlockedGatherer, type UnlockedOptions, gatherUnlocked } from '../platform/queues/gather-unlocked.ts'

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
  return createGatherer<T>({ ...options, ...keeping(ctx, options.name, idOf) })
}

/** Does the same, but the facts about rows that another transaction has locked wait for it alone. */
export function gatherUnlockedFacts<T>(
  ctx: Context,
  { idOf, ...options }: Omit<FactsOptions<T>, 'write'> & Pick<UnlockedOptions<T>, 'rowOf' | 'write'>,
): UnlockedGatherer<T> {
  return gatherUnlocked<T>({ ...options, ...keeping(ctx, options.name, idOf) })
}

function keeping<T>({ log }: Context, what: string, idOf: FactsOptions<T>['idOf']) {
  return {
    log,
    batch,
    keepsTrying: true,
    onRefused(fact: T, error: unknown) {
      log.error({ err: error, what, ...idOf(fact) }, 'the database refused what a device did; it is lost')
    },
  }
}
