import type { PlaceScope } from '../../access/scope.ts'
import { isSsrModel } from '../../devices/registry/models.ts'
import type { CatalogVersion } from '../../firmware/firmware.ts'
import { listVersions } from '../../firmware/store.ts'
import type { Context } from '../../platform/context.ts'
import type { Reader } from '../../platform/database/db.ts'
import { invalidField, notFound } from '../../platform/errors.ts'
import { inCreationTx } from '../creation/in-creation-tx.ts'
import { refuseBusy } from '../creation/refuse-busy.ts'
import type { UpgradePreview } from '../previews/preview.ts'
import { type PreviewOrigin, previewUpgrade } from '../previews/preview-upgrade.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import { type JoiningSelection, allDevices } from '../planning/plan-selection.ts'
import { type Channel, type SsrUpgrade, channels } from './ssr-upgrade.ts'
import { type NamedDevice, getSsrUpgrade, listGateways, listNamedDevices } from './store.ts'

/** An upgrade as requested. The sites follow from the routers. */
export interface SsrRequest {
  readonly deviceIds: readonly string[]
  readonly request: Omit<UpgradeRequest, 'siteIds' | 'selection' | 'includeNew'>
  /** True if further routers of the sites join while the upgrade runs. */
  readonly includeNew: boolean
  /** The channel in which a version must be that the client names as well; null: whichever it is in, which is recorded. */
  readonly channel: Channel | null
  /** The path names the only device, so that an unknown one is not found. */
  readonly isNamedByPath?: boolean
}

/**
 * Creates an upgrade of SSR routers, which the engine carries out as any other: see createUpgrade().
 * @throws AppError invalid naming the field; nothing is changed then.
 */
export async function createSsrUpgrade(ctx: Context, scope: PlaceScope, wanted: SsrRequest): Promise<SsrUpgrade> {
  return inCreationTx(ctx, scope, async (tx, create) => {
    const created = await create(await findRouters(tx, scope, wanted))
    refuseBusy(created, { unit: 'router', isByPath: wanted.isNamedByPath })
    return getSsrUpgrade(tx, scope, created.org.id)
  })
}

/** Plans an upgrade of SSR routers; see previewUpgrade(). @throws AppError not_found, invalid */
export async function previewSsrUpgrade(
  ctx: Context,
  scope: PlaceScope,
  { wanted, ...origin }: { readonly wanted: SsrRequest } & PreviewOrigin,
): Promise<UpgradePreview> {
  return previewUpgrade(ctx, scope, { ...origin, request: await findRouters(ctx.db, scope, wanted) })
}

async function findRouters(reader: Reader, scope: PlaceScope, wanted: SsrRequest): Promise<UpgradeRequest> {
  const devices = await listNamedDevices(reader, scope, wanted.deviceIds)
  const [first = ''] = wanted.deviceIds
  if (wanted.isNamedByPath === true && devices.length === 0) throw notFound(first)
  refuseDevices(wanted, devices)
  const named = await listNamedVersions(reader, scope, { devices, versions: wanted.request.versions })
  if (wanted.channel !== null) refuseOtherChannel(named, wanted.channel)
  const [channel = null] = wanted.channel === null ? named.flatMap((entry) => channelOf(entry) ?? []) : []
  const siteIds = [...new Set(devices.flatMap(({ siteId }) => siteId ?? []))]
  const ids = new Set(devices.map(({ id }) => id))
  return {
    ...wanted.request,
    ...(channel !== null && { document: { ...wanted.request.document, channel } }),
    siteIds,
    selection: { ...allDevices, ids },
    includeNew: wanted.includeNew ? await findJoining(reader, scope, { siteIds, ids }) : null,
  }
}

/** Routers that are at the sites already, and that the request does not name, are not meant. */
async function findJoining(
  reader: Reader,
  scope: PlaceScope,
  { siteIds, ids }: { readonly siteIds: readonly string[]; readonly ids: ReadonlySet<string> },
): Promise<JoiningSelection> {
  const gateways = await listGateways(reader, scope, siteIds)
  const unnamed = gateways.filter(({ id, model }) => isSsrModel(model) && !ids.has(id))
  const except = new Set(unnamed.map(({ id }) => id))
  return { ...allDevices, type: 'gateway', onlySsr: true, except }
}

function refuseDevices({ deviceIds: ids, isNamedByPath = false }: SsrRequest, devices: readonly NamedDevice[]): void {
  const byId = new Map(devices.map((device) => [device.id, device]))
  for (const [index, id] of ids.entries()) {
    const device = byId.get(id)
    const field = isNamedByPath ? 'device_id' : `device_ids.${index}`
    if (device === undefined) throw invalidField(field, `there is no device ${id} here`)
    if (device.type !== 'gateway' || !isSsrModel(device.model))
      throw invalidField(field, `${device.mac} has the model ${device.model}, which is no SSR router`)
    if (device.siteId === null) throw invalidField(field, `${device.mac} is in no site`)
  }
}

/** Lists the versions of the catalog that the request names; one that it chooses by a channel is not among them. */
async function listNamedVersions(
  reader: Reader,
  scope: PlaceScope,
  { devices, versions }: { readonly devices: readonly NamedDevice[] } & Pick<UpgradeRequest, 'versions'>,
): Promise<readonly CatalogVersion[]> {
  const models = new Set(devices.map(({ model }) => model))
  const named = new Set(versions.map(({ version }) => version))
  const catalog = await listVersions(reader, scope)
  return catalog.filter((entry) => models.has(entry.model) && named.has(entry.version))
}

function channelOf({ channel, tag }: CatalogVersion): Channel | undefined {
  return channel ?? channels.find((one) => one === tag)
}

function refuseOtherChannel(named: readonly CatalogVersion[], channel: Channel): void {
  const other = named.find((entry) => entry.tag !== channel && entry.channel !== channel)
  if (other !== undefined)
    throw invalidField(
      'channel',
      `is ${channel}, but ${other.version} for ${other.model} is in ${other.channel ?? other.tag ?? 'none'}`,
    )
}
