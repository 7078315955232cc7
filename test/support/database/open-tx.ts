import { expect } from 'vitest'
import { type Transactional, type Tx, inTx } from '../../../src/platform/database/db.ts'

/** A transaction that stays open after its work. */
export interface OpenTx {
  readonly commit: () => Promise<void>
  /** Does more work, which may wait for locks, and commits. */
  readonly commitAfter: (work: (tx: Tx) => Promise<unknown>) => Promise<void>
  readonly rollBack: () => Promise<void>
}

/** Resolves once the work is done, with its locks held. */
export async function openTx(ctx: Transactional, work: (tx: Tx) => Promise<unknown>): Promise<OpenTx> {
  const worked = Promise.withResolvers<void>()
  const ending = Promise.withResolvers<(tx: Tx) => Promise<unknown>>()
  const ended = inTx(ctx, async (tx) => {
    await work(tx)
    worked.resolve()
    const finish = await ending.promise
    await finish(tx)
  })
  await Promise.race([worked.promise, ended])
  async function commitAfter(finish: (tx: Tx) => Promise<unknown>): Promise<void> {
    ending.resolve(finish)
    await ended
  }
  return {
    commit: () => commitAfter(async () => {}),
    commitAfter,
    async rollBack() {
      ending.reject(new Error('rolled back'))
      await expect(ended).rejects.toThrow('rolled back')
    },
  }
}
