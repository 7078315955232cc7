import { type Transactional, inTx } from '../database/db.ts'
import { isObject } from '../json/is-object.ts'
import type { Logger } from '../log.ts'
import { isSealed } from './secret-names.ts'
import {
  type UnsealedTable,
  analyzeTable,
  listUnsealedTables,
  lockNextDocuments,
  updateDocument,
  upsertSealedTable,
} from './store-sealing.ts'

/** Documents in one transaction: each may have a mebibyte. */
const PORTION = 100

/**
 * Seals the secrets in the documents of an earlier release. No other process may write documents at the same time: a
 * row that has been read must not be read again, because its sealed values are secrets like any other. An interrupted
 * run continues after its last portion.
 */
export async function sealTables(ctx: Transactional & { readonly log: Logger }): Promise<void> {
  for (const table of await listUnsealedTables(ctx.db)) {
    const documents = await sealTable(ctx, table)
    if (documents === 0) continue
    await analyzeTable(ctx.db, table.name)
    ctx.log.info({ table: table.name, documents }, 'sealed the secrets in documents')
  }
}

/** @returns The number of documents that had secrets. */
async function sealTable(ctx: Transactional, table: UnsealedTable): Promise<number> {
  let [after, sealed] = [table.after, 0]
  for (;;) {
    const portion = await sealPortion(ctx, { ...table, after })
    sealed += portion.sealed
    if (portion.isWhole) return sealed
    ;({ after } = portion)
  }
}

interface Portion {
  readonly sealed: number
  readonly after: UnsealedTable['after']
  readonly isWhole: boolean
}

function sealPortion(ctx: Transactional, table: UnsealedTable): Promise<Portion> {
  return inTx(ctx, async (tx) => {
    const rows = await lockNextDocuments(tx, table, PORTION)
    const secret = rows.filter(({ stored }) => hasSecrets(stored))
    for (const row of secret) await updateDocument(tx, table, row)
    const after = rows.at(-1)?.key ?? table.after
    const isWhole = rows.length < PORTION
    await upsertSealedTable(tx, table.name, { after, isWhole })
    return { sealed: secret.length, after, isWhole }
  })
}

function hasSecrets(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasSecrets)
  if (!isObject(value)) return false
  return Object.entries(value).some(([name, member]) => isSealed(name, member) || hasSecrets(member))
}
