import type { OrgScope } from '../../access/scope.ts'
import { org, orgSites } from '../../http/at.ts'
import { countOperation, listOperation } from '../../http/list-operation.ts'
import { presentPage } from '../../http/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { ListErrorReply } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { assignDevices, unassignDevices } from './assign-devices.ts'
import { claimDevices } from './claim-devices.ts'
import { replaceDevice } from './replace-device.ts'
import type { ChangeReport } from './select-devices.ts'
import { listInventory } from './store.ts'
import { countInventory, searchInventory } from './store-search.ts'
import { unclaimDevices } from './unclaim-devices.ts'
import {
  ClaimBody,
  ClaimReply,
  type InventoryChange,
  InventoryItemReply,
  InventoryQuery,
  InventoryUpdateBody,
  InventoryUpdateReply,
  parseInventory,
  parseInventoryUpdate,
  presentClaim,
  presentInventory,
  presentInventoryUpdate,
} from './wire.ts'
import { ReplaceBody, parseReplace, presentReplace } from './wire-replace.ts'
import {
  InventoryCountQuery,
  InventorySearchQuery,
  InventorySearchReply,
  parseInventoryCount,
  parseInventorySearch,
  presentInventorySearch,
} from './wire-search.ts'

const tag = 'Orgs Inventory'

/** Devices that an organization owns: claim, assign, release, search. Source: contract, Orgs Inventory. */
export const inventoryOperations: Operation[] = [
  listOperation({
    id: 'getOrgInventory',
    summary: 'List the inventory of an organization',
    tag,
    at: orgSites('/inventory', { needs: 'read' }),
    query: InventoryQuery,
    item: InventoryItemReply,
    run: async (ctx, { scope, query, page }) =>
      presentPage(await listInventory(ctx.db, scope, { filter: parseInventory(query), page }), presentInventory),
  }),
  operation({
    id: 'addOrgInventory',
    summary: 'Claim devices for an organization',
    method: 'POST',
    tag,
    at: org('/inventory', { needs: 'write' }),
    body: ClaimBody,
    reply: ClaimReply,
    errors: { 400: ListErrorReply },
    run: async (ctx, { scope, body }) => presentClaim(await claimDevices(ctx, scope, body)),
  }),
  operation({
    id: 'updateOrgInventoryAssignment',
    summary: 'Assign, unassign or give up devices of the inventory',
    method: 'PUT',
    tag,
    at: org('/inventory', { needs: 'write' }),
    body: InventoryUpdateBody,
    reply: InventoryUpdateReply,
    errors: { 400: ListErrorReply },
    run: async (ctx, { scope, body }) => {
      const change = parseInventoryUpdate(body)
      return presentInventoryUpdate(change.op, await apply(ctx, scope, change))
    },
  }),
  operation({
    id: 'replaceOrgDevices',
    summary: 'Replace a device by another one',
    method: 'POST',
    tag,
    at: org('/inventory/replace', { needs: 'write' }),
    body: ReplaceBody,
    reply: InventoryUpdateReply,
    run: async (ctx, { scope, body }) => {
      await replaceDevice(ctx, scope, parseReplace(body))
      return presentReplace(body)
    },
  }),
  operation({
    id: 'searchOrgInventory',
    summary: 'Search the inventory of an organization',
    method: 'GET',
    tag,
    at: orgSites('/inventory/search', { needs: 'read' }),
    query: InventorySearchQuery,
    reply: InventorySearchReply,
    run: async (ctx, { scope, query, url }) => {
      const search = parseInventorySearch(query)
      const found = await searchInventory(ctx.db, scope, { ...search, page: search })
      return presentInventorySearch(found, search, url)
    },
  }),
  countOperation({
    id: 'countOrgInventory',
    summary: 'Count the inventory of an organization by a field',
    tag,
    at: orgSites('/inventory/count', { needs: 'read' }),
    query: InventoryCountQuery,
    parse: parseInventoryCount,
    run: (ctx, { scope, search }) => countInventory(ctx.db, scope, search),
  }),
].flat()

function apply(ctx: Context, scope: OrgScope, change: InventoryChange): Promise<ChangeReport> {
  switch (change.op) {
    case 'assign':
      return assignDevices(ctx, scope, change)
    case 'unassign':
      return unassignDevices(ctx, scope, change.names)
    case 'delete':
      return unclaimDevices(ctx, scope, change.names)
  }
}
