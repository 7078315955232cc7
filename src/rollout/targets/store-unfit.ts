import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { findHigher } from '../../firmware/higher-version.ts'
import { findTooLow } from '../../firmware/lowest-version.ts'
import type { NamedVersion } from '../../firmware/version-identity.ts'
import { type Reader, anyOf } from '../../platform/database/db.ts'
import type { LockedTarget } from './target-row.ts'

/** The version of a target and its image, which other versions may share. */
export type Installing = Pick<LockedTarget, 'upgradeId' | 'deviceId' | 'imageId' | 'targetVersion'>

/**
 * Returns why devices can't, or must not, install the images of their targets on the versions that they run now, by device: a person, or
 * the device itself, may have changed the version since the upgrade was planned.
 * @param connected Targets of connected devices.
 * @param keepsHigher The models of each site upgrade whose devices keep a higher version.
 */
export async function listUnfit(
  reader: Reader,
  scope: InOrg,
  connected: readonly Installing[],
  keepsHigher: ReadonlyMap<string, readonly string[]>,
): Promise<ReadonlyMap<string, string>> {
  const demanding = await listDemandingImages(reader, scope, [...new Set(connected.map(({ imageId }) => imageId))])
  const modelsOf = (upgradeId: string): readonly string[] => keepsHigher.get(upgradeId) ?? []
  const asked = connected.filter(({ upgradeId, imageId }) => demanding.has(imageId) || modelsOf(upgradeId).length > 0)
  const examined = await listExamined(reader, scope, asked)
  const catalogs = await listCatalogs(reader, scope, [...new Set(examined.map(({ model }) => model))])
  return new Map(
    examined.flatMap((one) => unfitOf(one, catalogs.get(one.model) ?? [], modelsOf(one.upgradeId).includes(one.model))),
  )
}

/** Returns those of the images that can't be installed from every version. Most catalogs have none. */
async function listDemandingImages(
  reader: Reader,
  scope: InOrg,
  imageIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (imageIds.length === 0) return new Set()
  const rows = await reader
    .selectFrom('firmwareVersion')
    .select('imageId')
    .where('orgId', '=', scope.orgId)
    .where('imageId', '=', anyOf(imageIds))
    .where('minVersion', 'is not', null)
    .execute()
  return new Set(rows.map(({ imageId }) => imageId))
}

interface Examined {
  readonly upgradeId: string
  readonly deviceId: string
  readonly model: string
  readonly version: string
  readonly minVersion: string | null
  readonly firmware: string | null
  readonly members: readonly { readonly firmware: string }[] | null
}

async function listExamined(
  reader: Reader,
  { orgId }: InOrg,
  targets: readonly Installing[],
): Promise<readonly Examined[]> {
  if (targets.length === 0) return []
  const upgradeIds = targets.map(({ upgradeId }) => upgradeId)
  const deviceIds = targets.map(({ deviceId }) => deviceId)
  const versions = targets.map(({ targetVersion }) => targetVersion)
  const { rows } = await sql<Examined>`
    select target.upgrade_id, device.id as device_id, device.model, wanted.version, wanted.min_version, status.firmware, status.members
    from unnest(${upgradeIds}::uuid[], ${deviceIds}::uuid[], ${versions}::text[]) as target (upgrade_id, device_id, version)
    join device on device.org_id = ${orgId} and device.id = target.device_id
    join device_status status on status.org_id = device.org_id and status.device_id = device.id
    join firmware_version wanted on wanted.org_id = device.org_id and wanted.model = device.model
      and wanted.version = target.version
  `.execute(reader)
  return rows
}

/** Returns the versions of the models, which identify what devices report. */
async function listCatalogs(
  reader: Reader,
  { orgId }: InOrg,
  models: readonly string[],
): Promise<ReadonlyMap<string, readonly NamedVersion[]>> {
  if (models.length === 0) return new Map()
  const rows = await reader
    .selectFrom('firmwareVersion')
    .select(['model', 'version', 'reported'])
    .where('orgId', '=', orgId)
    .where('model', '=', anyOf(models))
    .execute()
  return Map.groupBy(rows, ({ model }) => model)
}

function unfitOf(
  examined: Examined,
  catalog: readonly NamedVersion[],
  keepsHigher: boolean,
): (readonly [string, string])[] {
  const { deviceId, firmware, members } = examined
  const running = { fromVersion: firmware, memberVersions: (members ?? []).map((member) => member.firmware) }
  const reason = findTooLow(running, examined, catalog) ?? (keepsHigher ? findHigher(running, examined, catalog) : null)
  return reason === null ? [] : [[deviceId, reason]]
}
