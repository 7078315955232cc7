import { org, orgSites } from '../../http/at.ts'
import { countOperation, listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty } from '../../http/schemas.ts'
import { AppError } from '../../platform/errors.ts'
import { replaceDevice } from './replace-device.ts'
import { assertCodesUnasked, seesClaimCodes } from './sees-claim-codes.ts'
import { listInventory } from './store.ts'
import { countInventory, searchInventory } from './store-search.ts'
import { InventoryItemReply, InventoryQuery, InventoryUpdateReply, parseInventory, presentInventory } from './wire.ts'
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

/**
 * Devices that an organization owns: list, replace, search. Operations that also change edge appliances are in
 * `mxedges/inventory`. Source: contract, Orgs Inventory.
 */
export const inventoryOperations: Operation[] = [
  operation({
    id: 'reevaluateOrgAutoAssignment',
    summary: 'Assign devices by rules, which are not supported: always refused',
    method: 'POST',
    tag,
    at: org('/inventory/reevaluate_auto_assignment', { needs: 'write' }),
    reply: Empty,
    run: () => {
      throw new AppError('invalid', "Devices can't be assigned by rules: assign them by PUT .../inventory")
    },
  }),
  listOperation({
    id: 'getOrgInventory',
    summary: 'List the inventory of an organization',
    tag,
    at: orgSites('/inventory', { needs: 'read' }),
    query: InventoryQuery,
    item: InventoryItemReply,
    run: async (ctx, { scope, caller, query, page }) => {
      const found = await listInventory(ctx.db, scope, { filter: parseInventory(query), page })
      const showsCode = seesClaimCodes(caller, scope)
      return presentPage(found, (item) => presentInventory(item, { showsCode }))
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
    run: async (ctx, { scope, caller, query, url }) => {
      const search = parseInventorySearch(query)
      assertCodesUnasked(caller, scope, search)
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
