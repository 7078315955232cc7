import { type Static, Type } from 'typebox'
import { unsettable } from '../../http/bodies/closed-bodies.ts'
import { filterQuery, parseFilters } from '../../http/lists/filters.ts'
import { pageQuery } from '../../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import type { AssignRequest } from './assign-devices.ts'
import type { DeviceType } from '../device.ts'
import { isSsrModel } from '../registry/models.ts'
import type { ManifestItem } from '../registry/plan-import.ts'
import type { Claimable, ClaimPlan, ClaimedByCode, RefusedCode } from './plan-claim.ts'
import type { ChangeReport, DeviceNames } from './select-devices.ts'
import { chassisFilters, inventoryFilters } from './filters.ts'
import type { InventoryFilter, InventoryItem } from './store.ts'
import { identityFields, presentIdentity } from '../wire.ts'
import { withoutUndefined } from '../../platform/records.ts'

const MAX_NAMES = 1000

/** Source: contract, `getOrgInventory`. Empty and zero mean no filter: clients send them all. */
export const InventoryQuery = Type.Object({
  ...pageQuery,
  ...filterQuery(inventoryFilters),
  ...filterQuery(chassisFilters),
  vc: Type.Optional(Type.Boolean({ description: 'list the members of Virtual Chassis too' })),
  unassigned: Type.Optional(Type.Boolean({ description: 'true: only devices of no site; false: no filter' })),
})

/** @throws AppError invalid naming the field. */
export function parseInventory(query: Static<typeof InventoryQuery>): InventoryFilter {
  return {
    conditions: parseFilters(inventoryFilters, query),
    vcMac: parseFilters(chassisFilters, query).vc_mac ?? null,
    withMembers: query.vc ?? false,
    onlyUnassigned: query.unassigned ?? false,
  }
}

export const InventoryItemReply = named(
  'InventoryItem',
  Type.Object({
    ...identityFields,
    magic: Type.Optional(
      Type.String({
        description:
          'claim code, in upper case without dashes; only for callers who may write to the whole organization',
      }),
    ),
    deviceprofile_id: Type.Optional(Type.String({ description: 'as set by a person' })),
    vc_mac: Type.Optional(Type.String()),
    connected: Type.Boolean(),
    ssr: Type.Optional(
      Type.Literal(true, { description: 'an SSR router, which upgrades of SSR routers accept; ours' }),
    ),
    adopted: Type.Boolean({ description: 'false: devices are claimed by their codes' }),
    jsi: Type.Boolean({ description: 'false: there is no other service that manages devices' }),
    hostname: Type.Optional(Type.String({ description: 'as the device names itself' })),
    chassis_mac: Type.Optional(Type.String()),
    chassis_serial: Type.Optional(Type.String()),
    hw_rev: Type.Optional(Type.String()),
    sku: Type.Optional(Type.String()),
    last_disconnected: Type.Optional(Type.Integer()),
    created_time: Timestamp,
    modified_time: Timestamp,
  }),
)

export function presentInventory(
  item: InventoryItem,
  { showsCode }: { readonly showsCode: boolean },
): Static<typeof InventoryItemReply> {
  const { claimCode, vcMac, connected, disconnectedAt } = item
  return {
    ...presentIdentity(item),
    ...(showsCode && claimCode !== null && { magic: claimCode }),
    ...(item.deviceprofileId !== null && { deviceprofile_id: item.deviceprofileId }),
    ...(vcMac !== null && { vc_mac: vcMac }),
    connected,
    ...(item.type === 'gateway' && isSsrModel(item.model) && { ssr: true as const }),
    adopted: false,
    jsi: false,
    ...hardwareOf(item),
    ...(disconnectedAt !== null && { last_disconnected: Math.floor(epochS(disconnectedAt)) }),
    created_time: epochS(item.createdAt),
    modified_time: epochS(item.modifiedAt),
  }
}

function hardwareOf({ unit }: InventoryItem) {
  const { hostname, chassis_mac, chassis_serial, hw_rev, sku } = unit ?? {}
  return {
    ...(hostname !== undefined && { hostname }),
    ...(chassis_mac !== undefined && { chassis_mac }),
    ...(chassis_serial !== undefined && { chassis_serial }),
    ...(hw_rev !== undefined && { hw_rev }),
    ...(sku !== undefined && { sku }),
  }
}

export const ClaimBody = named(
  'ClaimCodes',
  Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: MAX_NAMES }),
)

const ClaimedItem = named(
  'ClaimedDevice',
  Type.Object({
    mac: Type.String(),
    magic: Type.String(),
    model: Type.String(),
    serial: Type.String(),
    type: Type.String(),
  }),
)

/** Codes as sent; `reason` runs parallel to `error`. Source: contract, `OrgInventoryAdd`. */
export const ClaimReply = named(
  'ClaimResult',
  Type.Object({
    added: Type.Array(Type.String(), { description: 'codes of what has been claimed' }),
    duplicated: Type.Array(Type.String(), {
      description: 'codes of what the organization has already, and codes that the request has twice',
    }),
    error: Type.Array(Type.String(), { description: 'codes that claim nothing' }),
    reason: Type.Array(Type.String(), { description: 'parallel to `error`' }),
    inventory_added: Type.Optional(Type.Array(ClaimedItem, { description: 'parallel to `added`' })),
    inventory_duplicated: Type.Optional(Type.Array(ClaimedItem, { description: 'parallel to `duplicated`' })),
  }),
)

/** Devices and edge appliances. */
export type ClaimedHardware = ManifestItem<DeviceType | 'mxedge'> & Claimable

/** @throws AppError invalid, with the same members, where nothing could be claimed. */
export function presentClaim({ added, duplicated, refused }: ClaimPlan<ClaimedHardware>): Static<typeof ClaimReply> {
  const reply = {
    added: added.map(({ code }) => code),
    duplicated: duplicated.map(({ code }) => code),
    error: refused.map(({ code }) => code),
    reason: refused.map(({ reason }) => reason),
    ...(added.length > 0 && { inventory_added: added.map(presentClaimed) }),
    ...(duplicated.length > 0 && { inventory_duplicated: duplicated.map(presentClaimed) }),
  }
  if (added.length + duplicated.length > 0) return reply
  throw new AppError('invalid', `No device could be claimed: ${refusalText(refused)}`, reply)
}

/** A list may have a thousand codes; the members of the answer contain all of them. */
const SHOWN_REFUSALS = 3

function refusalText(refused: readonly RefusedCode[]): string {
  const texts = refused.slice(0, SHOWN_REFUSALS).map(({ code, reason }) => `${code} (${reason})`)
  const others = refused.length - texts.length
  return [...texts, ...(others > 0 ? [`${others} more`] : [])].join(', ')
}

function presentClaimed({ device }: ClaimedByCode<ClaimedHardware>): Static<typeof ClaimedItem> {
  const { mac, claimCode, model, serial, type } = device
  return { mac, magic: claimCode, model, serial, type }
}

const Names = Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: MAX_NAMES }))
const operations = ['assign', 'delete', 'downgrade_to_jsi', 'unassign', 'upgrade_to_mist'] as const

/** Source: contract, `inventory_update`. */
export const InventoryUpdateBody = named(
  'InventoryUpdate',
  Type.Object(
    {
      op: Type.Enum(operations, {
        description:
          'upgrade_to_mist changes nothing, because the service manages every device; downgrade_to_jsi is refused for each',
      }),
      macs: Names,
      serials: Names,
      site_id: Type.Optional(Uuid),
      no_reassign: Type.Optional(Type.Boolean()),
      managed: Type.Optional(Type.Boolean()),
      disable_auto_config: Type.Optional(Type.Boolean()),
      mist_configured: Type.Optional(Type.Boolean()),
    },
    unsettable(['macs', 'serials', 'site_id', 'no_reassign']),
  ),
)

export type InventoryChange =
  | ({ readonly op: 'assign' } & AssignRequest)
  | { readonly op: 'unassign' | 'delete' | 'upgrade_to_mist' | 'downgrade_to_jsi'; readonly names: DeviceNames }

/** @throws AppError invalid naming the field. */
export function parseInventoryUpdate(body: Static<typeof InventoryUpdateBody>): InventoryChange {
  const { op, macs = [], serials = [], site_id: siteId, no_reassign: noReassign = false } = body
  const names = { macs, serials }
  if (op !== 'assign') return { op, names }
  if (siteId === undefined) throw invalidField('site_id', 'is required to assign')
  return { op, names, siteId, noReassign, settings: settingsOf(body) }
}

/** Settings that are stored with the device and answered with it, where the client sets them. */
function settingsOf(body: Static<typeof InventoryUpdateBody>): Record<string, unknown> {
  const { managed, disable_auto_config, mist_configured } = body
  return withoutUndefined({ managed, disable_auto_config, mist_configured })
}

/** Names as sent; `reason` runs parallel to `error`. Source: contract, `OrgInventoryChanges`. */
export const InventoryUpdateReply = named(
  'InventoryUpdateResult',
  Type.Object({
    op: Type.Enum(operations),
    success: Type.Array(Type.String()),
    error: Type.Array(Type.String()),
    reason: Type.Array(Type.String()),
  }),
)

/** @throws AppError invalid, with the same members, where no device could be changed. */
export function presentInventoryUpdate(
  op: InventoryChange['op'],
  { success, refused }: ChangeReport,
): Static<typeof InventoryUpdateReply> {
  const reply = {
    op,
    success: [...success],
    error: refused.map(({ name }) => name),
    reason: refused.map(({ reason }) => reason),
  }
  if (success.length > 0 || refused.length === 0) return reply
  throw new AppError('invalid', `No device could be changed: ${reply.reason[0] ?? 'no device'}`, reply)
}
