import type { SiteScope } from '../../access/scope.ts'
import { assignToSite, shareSiteName } from '../../devices/store.ts'
import { appendAudit, appendDeviceEvents } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { ImageFiles } from '../../platform/images/image-files.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { addMap } from '../../maps/create-map.ts'
import { assertMapLimit } from '../../maps/limits.ts'
import { placeOf } from '../place-on-map.ts'
import { lockAdditions } from '../../orgs/store.ts'
import { type MapDevice, lockCandidates, placeDevices } from '../../devices/store-placement.ts'
import { type Bundle, openBundle } from './bundle.ts'
import { type KeptFloor, keepFloors, releaseFloors, removeFloors } from './keep-floors.ts'
import { type ApReport, namesOf, planPlacements } from './plan-placements.ts'
import type { Floor, ImportWish, Project } from './project.ts'
import { readEkahau } from './read-ekahau.ts'
import { readPictures } from './read-pictures.ts'

/** Formats of bundles. */
export type Vendor = 'ekahau' | 'images'

const readers: Record<Vendor, (bundle: Bundle) => Project | Promise<Project>> = {
  ekahau: readEkahau,
  images: readPictures,
}

export interface ImportRequest {
  readonly files: ImageFiles
  /** Path of the received bundle; the caller removes it. */
  readonly path: string
  readonly vendor: Vendor
  readonly wish: ImportWish
  /** True if unassigned devices of the inventory may join this site. */
  readonly mayAssign: boolean
  /** Devices claimed before are neither placed nor reported; null: no limit. */
  readonly claimedSince: Date | null
}

export interface ImportReport {
  readonly siteId: string
  readonly imported: readonly KeptFloor[]
  /** Floors without access points, if the request selected only floors with some. */
  readonly skipped: readonly Floor[]
  readonly aps: readonly ApReport[]
  readonly assigned: number
}

/**
 * Creates a map for every floor of a bundle and places the devices that its access points name: all of it, or nothing.
 * @throws AppError invalid for a bundle or a picture that can't be read, and for one map too many.
 */
export async function importMaps(ctx: Context, scope: SiteScope, request: ImportRequest): Promise<ImportReport> {
  const { files, path, vendor, wish } = request
  const bundle = await openBundle(path)
  try {
    const project = await readers[vendor](bundle)
    const inhabited = new Set(project.accessPoints.map(({ floorId }) => floorId))
    const isWanted = ({ id }: Floor): boolean => wish.allFloors || vendor === 'images' || inhabited.has(id)
    const floors = project.floors.filter(isWanted)
    const kept = await keepFloors(files, scope, { bundle, floors })
    const skipped = project.floors.filter((floor) => !isWanted(floor))
    try {
      return { ...(await inTx(ctx, (tx) => write(ctx, tx, scope, { ...request, project, kept }))), skipped }
    } catch (error) {
      // After any other error the commit may have happened: a sweep decides by the rows.
      if (error instanceof AppError) await removeFloors(files, kept)
      throw error
    } finally {
      releaseFloors(kept)
    }
  } finally {
    bundle.close()
  }
}

interface Import extends ImportRequest {
  readonly project: Project
  readonly kept: readonly KeptFloor[]
}

async function write(
  { clock, limits }: Context,
  tx: Tx,
  scope: SiteScope,
  { project, kept, wish, mayAssign, claimedSince }: Import,
): Promise<Omit<ImportReport, 'skipped'>> {
  const at = clock.now()
  const { siteId } = scope
  await lockAdditions(tx, scope)
  const siteName = await shareSiteName(tx, scope, siteId)
  if (siteName === undefined) throw notFound(siteId)
  for (const { mapId, doc, image } of kept) await addMap(tx, scope, { id: mapId, doc, image, at })
  if (kept.length > 0) await assertMapLimit(tx, scope, limits)
  const devices = await lockCandidates(tx, scope, { ...namesOf(project.accessPoints, wish), claimedSince })
  const { accessPoints } = project
  const plan = planPlacements({ accessPoints, floors: kept, devices, siteId, mayAssign, wish })
  const { reports, placements, assigned } = plan
  await assignToSite(tx, scope, { deviceIds: assigned.map(({ id }) => id), siteId, settings: {}, at })
  await placeDevices(tx, scope, placements, at)
  const byId = new Map(devices.map((device) => [device.id, device]))
  const auditId = await appendAudit(tx, scope, {
    message: `Import ${kept.length} maps, place ${placements.length} devices`,
    siteId,
    before: { devices: placements.map(({ id }) => placeBefore(id, byId.get(id))) },
    after: {
      map_ids: kept.map(({ mapId }) => mapId),
      devices: placements,
    },
    at,
  })
  const deviceEvents = assigned.map(({ id, mac, type, name }) => ({
    device: { id, mac, type, name, siteId, siteName },
    what: 'ASSIGNED' as const,
    auditId,
  }))
  await appendDeviceEvents(tx, scope, deviceEvents, at)
  wakeAfterCommit(tx, 'thumbnails')
  return { siteId, imported: kept, aps: reports, assigned: assigned.length }
}

function placeBefore(id: string, device: MapDevice | undefined): Record<string, unknown> {
  return { id, name: device?.name ?? null, ...placeOf(device?.doc ?? {}) }
}
