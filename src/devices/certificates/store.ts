import { sql } from 'kysely'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { Reader, Tx } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { statement } from '../../platform/database/statement.ts'
import type { DeviceCertificate } from './certificate.ts'

const columns = columnsOf('revokedCertificate', { mac: 'text', serial: 'text' })

export async function insertIssued(tx: Tx, certificate: DeviceCertificate, issuedAt: Date): Promise<void> {
  await tx
    .insertInto('issuedCertificate')
    .values({ ...certificate, issuedAt })
    .execute()
}

/** Revokes one certificate, or, if the serial is empty, all of the device that were issued until then. */
export async function upsertRevoked(tx: Tx, certificate: DeviceCertificate, revokedAt: Date): Promise<void> {
  await tx
    .insertInto('revokedCertificate')
    .values({ ...certificate, revokedAt })
    .onConflict((conflict) => conflict.columns(['mac', 'serial']).doUpdateSet({ revokedAt }))
    .execute()
}

/** Returns the MACs of those of the certificates that are revoked. */
export async function listRevokedMacs(
  reader: Reader,
  certificates: readonly DeviceCertificate[],
): Promise<ReadonlySet<string>> {
  if (certificates.length === 0) return new Set()
  const rows = await selectRevoked(reader, { certificates })
  return new Set(rows.map(({ mac }) => mac))
}

const selectRevoked = statement<{ readonly certificates: readonly DeviceCertificate[] }, { mac: string }>(
  (param) => sql`
    select shown.mac from ${rowsAs('shown', columns, param('certificates'))}
    where exists (
      select from revoked_certificate revoked where revoked.mac = shown.mac
        and (revoked.serial = shown.serial or revoked.serial = '' and not exists (
          select from issued_certificate issued
          where issued.mac = shown.mac and issued.serial = shown.serial and issued.issued_at > revoked.revoked_at)))
  `,
)

export interface RevokedCertificate extends DeviceCertificate {
  readonly revokedAt: Date
}

/** Lists the devices of which certificates were revoked since then. */
export async function listMacsRevokedSince(reader: Reader, since: Date): Promise<string[]> {
  const rows = await reader.selectFrom('revokedCertificate').select('mac').where('revokedAt', '>=', since).execute()
  return rows.map(({ mac }) => mac)
}

export function listRevokedCertificates(reader: Reader, page: Page): Promise<Paged<RevokedCertificate>> {
  const hits = reader.selectFrom('revokedCertificate').selectAll()
  return pageOf<RevokedCertificate>(reader, { hits, sizes: smallRows, order: ['mac', 'serial'] }, page)
}
