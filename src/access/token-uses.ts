import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { type TokenUse, recordTokenUses } from './store-tokens.ts'

/** The limit of 90 days needs no more precision, and a token in steady use is written once in five minutes. */
const COARSE_MS = 5 * 60e3
const WRITE_EVERY_MS = 60e3

/** Collects in memory when tokens were last used, so that a request writes nothing. */
export interface TokenUses {
  /** @param lastUsedAt As stored in the database. */
  record(token: { readonly tokenId: string; readonly lastUsedAt: Date | null }, at: Date): void
  /** Writes the collected uses in one statement. @throws Error of the database; the uses are then kept. */
  flush(): Promise<void>
}

export function createTokenUses(ctx: Context): TokenUses {
  const collected = new Map<string, Date>()
  return {
    record({ tokenId, lastUsedAt }, at) {
      if (lastUsedAt === null || at.getTime() - lastUsedAt.getTime() >= COARSE_MS) collected.set(tokenId, at)
    },
    async flush() {
      if (collected.size === 0) return
      const uses: TokenUse[] = [...collected].map(([id, at]) => ({ id, at }))
      await inTx(ctx, (tx) => recordTokenUses(tx, uses))
      // A later use of the same token arrived meanwhile: the next flush writes it.
      for (const { id, at } of uses) if (collected.get(id) === at) collected.delete(id)
    },
  }
}

/** Writes the uses every minute, and the rest on `stop`. A crash loses at most a minute of the 90 days. */
export function startTokenUses(ctx: Context, uses: TokenUses): { stop(): Promise<void> } {
  const log = ctx.log.child({ worker: 'token uses' })
  const flush = () => uses.flush().catch((error: unknown) => log.error({ err: error }, 'uses of tokens not written'))
  const timer = setInterval(() => void flush(), WRITE_EVERY_MS)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await flush()
    },
  }
}
