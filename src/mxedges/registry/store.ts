import { type Selectable, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { ManifestItem } from '../../devices/registry/plan-import.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { columnsOf, insertRows } from '../../platform/database/rows.ts'
import type { MxedgeRegistryTable } from '../tables.ts'

/** An edge appliance of a manifest, claimed or not. */
export type RegisteredMxedge = Selectable<MxedgeRegistryTable>

/** Must equal the expression of the index `mxedge_registry_by_claim`, and claim-code.ts of the devices. */
const plainCode = sql<string>`upper(replace(claim_code, '-', ''))`

/**
 * The registry has no tenant: knowledge of the claim code authorizes. Rows are locked by id, to prevent deadlocks.
 * @param codes As plainClaimCode() returns them.
 */
export function lockRegistryByCodes(tx: Tx, codes: readonly string[]): Promise<RegisteredMxedge[]> {
  return tx
    .selectFrom('mxedgeRegistry')
    .selectAll()
    .where(plainCode, '=', anyOf(codes))
    .orderBy('id')
    .forUpdate()
    .execute()
}

/** Makes the organization the owner of unclaimed hardware. */
export async function updateOwner(tx: Tx, scope: InOrg, id: string): Promise<void> {
  await tx
    .updateTable('mxedgeRegistry')
    .set({ orgId: scope.orgId })
    .where('id', '=', id)
    .where('orgId', 'is', null)
    .execute()
}

/** Ends the organization's ownership, and stores its last registration; does nothing for a virtual machine. */
export async function releaseMxedge(
  tx: Tx,
  scope: InOrg,
  { id, registrationEpoch }: Pick<RegisteredMxedge, 'id' | 'registrationEpoch'>,
): Promise<void> {
  await tx
    .updateTable('mxedgeRegistry')
    .set({ orgId: null, registrationEpoch })
    .where('id', '=', id)
    .where('orgId', '=', scope.orgId)
    .execute()
}

/** Lists unclaimed hardware, for the operator of the installation; ordered by MAC. */
export function listUnclaimedMxedges(reader: Reader, page: Page): Promise<Paged<RegisteredMxedge>> {
  const hits = reader.selectFrom('mxedgeRegistry').selectAll().where('orgId', 'is', null)
  return pageOf<RegisteredMxedge>(reader, { hits, sizes: smallRows }, page)
}

/** Returns unclaimed hardware, for the operator of the installation. */
export function findUnclaimedMxedge(reader: Reader, mac: string): Promise<RegisteredMxedge | undefined> {
  return reader
    .selectFrom('mxedgeRegistry')
    .selectAll()
    .where('mac', '=', mac)
    .where('orgId', 'is', null)
    .executeTakeFirst()
}

/** Locks the registry's rows of this hardware and of its claim codes. */
export function lockRegistryOf(
  tx: Tx,
  mxedges: readonly ManifestItem<'mxedge'>[],
  codes: readonly string[],
): Promise<RegisteredMxedge[]> {
  return tx
    .selectFrom('mxedgeRegistry')
    .selectAll()
    .where((eb) => eb.or([eb('id', '=', anyOf(mxedges.map(({ id }) => id))), eb(plainCode, '=', anyOf(codes))]))
    .orderBy('id')
    .forUpdate()
    .execute()
}

const manifestColumns = columnsOf('mxedgeRegistry', {
  id: 'uuid',
  mac: 'text',
  serial: 'text',
  model: 'text',
  claimCode: 'text',
  createdAt: 'timestamptz',
})

/** Inserts hardware, or updates unclaimed hardware. The caller has locked and compared it. */
export async function upsertManifest(tx: Tx, mxedges: readonly ManifestItem<'mxedge'>[], at: Date): Promise<void> {
  await insertRows(tx, manifestColumns, mxedges, {
    every: { createdAt: at },
    tail: sql`order by id
      on conflict (id) do update set serial = excluded.serial, model = excluded.model, claim_code = excluded.claim_code
      where mxedge_registry.org_id is null`,
  })
}
