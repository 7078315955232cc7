import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { type TokenUse, recordTokenUses } from './store-tokens.ts'

/** 90 days don't need it more exactly, and a token in steady use is written once in five minutes. */
const COARSE_MS = 5 * 60e3
const WRITE_EVERY_MS = 60e3

/** When tokens were last used: collected in memory, so that a request writes nothing. */
export interface TokenUses {
  /** @param lastUsedAt As the database has it. */
  record(token: { readonly tokenId: string; readonly lastUsedAt: Date | null }, at: Date): void
  /** Writes what was collected, in one statement. @throws Error of the database; nothing is lost then. */
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
      // A later use of the same token came in meanwhile: it stays for the next time.
      for (const { id, at } of uses) if (collected.get(id) === at) collected.delete(id)
    },
  }
}

/** Writes the uses every minute until `stop`, and what is left then. A crash costs a minute of 90 days. */
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
