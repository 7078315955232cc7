import type { Context } from '../../platform/context.ts'
import { inUnflushedTx } from '../../platform/database/db.ts'
import { createGatherer } from '../../platform/queues/gather.ts'
import { type TokenUse, recordTokenUses } from './store-tokens.ts'

/** The limit of 90 days needs no more precision, and a token in steady use is written once in five minutes. */
const COARSE_MS = 5 * 60e3
const MAX_TOKENS = 10_000
/** A crash loses at most a minute of the 90 days. */
const wait = { ms: 60e3, count: MAX_TOKENS }
const batch = { count: MAX_TOKENS, bytes: Infinity }

/** Gathers in memory when tokens were last used, so that a request writes nothing. */
export interface TokenUses {
  /** @param lastUsedAt As stored in the database. */
  record(token: { readonly tokenId: string; readonly lastUsedAt: Date | null }, at: Date): void
  /** Writes the uses so far. Never rejects. */
  flush(): Promise<void>
  /** Like `flush`, but does not repeat a failed write. */
  stop(): Promise<void>
}

export function createTokenUses(ctx: Context): TokenUses {
  const uses = createGatherer<TokenUse>({
    name: 'uses of tokens',
    log: ctx.log,
    write: (items) => inUnflushedTx(ctx, (tx) => recordTokenUses(tx, items)),
    batch,
    wait,
    keyOf: ({ id }) => id,
    keepsLast: true,
    keepsTrying: true,
    onRefused: ({ id }, error) =>
      ctx.log.error({ err: error, tokenId: id }, 'the use of a token was refused; it is lost'),
  })
  return {
    record({ tokenId, lastUsedAt }, at) {
      if (lastUsedAt === null || at.getTime() - lastUsedAt.getTime() >= COARSE_MS) void uses.add({ id: tokenId, at })
    },
    flush: () => uses.flush(),
    stop: () => uses.stop(),
  }
}
