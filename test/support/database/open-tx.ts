import { expect } from 'vitest'
import { type Transactional, type Tx, inTx } from '../../../src/platform/database/db.ts'

/** A transaction that stays open after its work. */
export interface OpenTx {
  readonly commit: () => Promise<void>
  readonly rollBack: () => Promise<void>
}

/** Resolves once the work is done, with its locks held. */
export async function openTx(ctx: Transactional, work: (tx: Tx) => Promise<unknown>): Promise<OpenTx> {
  const [worked, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const ended = inTx(ctx, async (tx) => {
    await work(tx)
    worked.resolve()
    await ending.promise
  })
  await Promise.race([worked.promise, ended])
  return {
    async commit() {
      ending.resolve()
      await ended
    },
    async rollBack() {
      ending.reject(new Error('rolled back'))
      await expect(ended).rejects.toThrow('rolled back')
    },
  }
}
