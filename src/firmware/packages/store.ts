import { sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import type { Reader, Tx } from '../../platform/database/db.ts'
import type { CatalogPackage } from './package.ts'

/** The column is part of the key, so it can't be null. */
const ANY_DISTRO = ''

/** SQL expression: a JSON array of the packages that a row of `firmware_image` is offered as. */
export const packagesOfImage = sql<readonly Omit<CatalogPackage, 'imageId'>[]>`(
  select coalesce(json_agg(json_build_object('package', p.package, 'version', p.version,
      'distro', nullif(p.distro, ${ANY_DISTRO}), 'channel', p.channel, 'isDefault', p.is_default)
    order by p.package, p.version, p.distro), '[]')
  from firmware_package p where p.org_id = firmware_image.org_id and p.image_id = firmware_image.id
)`

/** Lists the organization's packages by name. */
export function listPackages(reader: Reader, scope: InOrg): Promise<CatalogPackage[]> {
  return reader
    .selectFrom('firmwarePackage')
    .select(['package', 'version', 'channel', 'isDefault', 'imageId'])
    .select(sql<string | null>`nullif(distro, ${ANY_DISTRO})`.as('distro'))
    .where('orgId', '=', scope.orgId)
    .orderBy('package')
    .orderBy('createdAt', 'desc')
    .execute()
}

/**
 * Inserts a package of a locked image. One that exists takes the new channel and becomes the default or no longer is;
 * the former default stops being it.
 * @returns False if another image has that version.
 */
export async function insertPackage(
  tx: Tx,
  scope: OrgScope,
  { distro, ...entry }: CatalogPackage & { readonly createdAt: Date },
): Promise<boolean> {
  const key = { orgId: scope.orgId, distro: distro ?? ANY_DISTRO }
  if (entry.isDefault) {
    await tx
      .updateTable('firmwarePackage')
      .set({ isDefault: false })
      .where('orgId', '=', key.orgId)
      .where('package', '=', entry.package)
      .where('distro', '=', key.distro)
      .where('channel', '=', entry.channel)
      .where('isDefault', '=', true)
      .execute()
  }
  const written = await tx
    .insertInto('firmwarePackage')
    .values({ ...entry, ...key })
    .onConflict((conflict) =>
      conflict
        .columns(['orgId', 'package', 'version', 'distro'])
        .doUpdateSet({ channel: entry.channel, isDefault: entry.isDefault })
        .where('firmwarePackage.imageId', '=', entry.imageId),
    )
    .returning('imageId')
    .executeTakeFirst()
  return written !== undefined
}
