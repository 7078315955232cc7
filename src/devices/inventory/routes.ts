import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { authorize } from '../../access/authorize.ts'
import type { OrgScope } from '../../access/scope.ts'
import { parsePage, setPageHeaders } from '../../http/lists.ts'
import { OrgParams } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { assignDevices, unassignDevices } from './assign-devices.ts'
import { claimDevices } from './claim-devices.ts'
import { replaceDevice } from './replace-device.ts'
import type { ChangeReport } from './select-devices.ts'
import { listInventory } from './store.ts'
import { unclaimDevices } from './unclaim-devices.ts'
import {
  ClaimBody,
  ClaimReply,
  type InventoryChange,
  InventoryQuery,
  InventoryReply,
  InventoryUpdateBody,
  InventoryUpdateReply,
  parseInventory,
  parseInventoryUpdate,
  presentClaim,
  presentInventory,
  presentInventoryUpdate,
} from './wire.ts'
import { ReplaceBody, parseReplace, presentReplace } from './wire-replace.ts'

const tags = ['Orgs Inventory']

/** What an organization owns: claim, assign, give up. Source: contract, Orgs Inventory. */
export function inventoryRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/orgs/:org_id/inventory',
      {
        schema: {
          operationId: 'getOrgInventory',
          tags,
          params: OrgParams,
          querystring: InventoryQuery,
          response: { 200: InventoryReply },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const page = parsePage(query)
        const found = await listInventory(ctx.db, scope, { filter: parseInventory(query), page })
        setPageHeaders(reply, page, found)
        return found.rows.map(presentInventory)
      },
    )

    http.post(
      '/orgs/:org_id/inventory',
      {
        schema: {
          operationId: 'addOrgInventory',
          tags,
          params: OrgParams,
          body: ClaimBody,
          response: { 200: ClaimReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        return presentClaim(await claimDevices(ctx, scope, body))
      },
    )

    http.put(
      '/orgs/:org_id/inventory',
      {
        schema: {
          operationId: 'updateOrgInventoryAssignment',
          tags,
          params: OrgParams,
          body: InventoryUpdateBody,
          response: { 200: InventoryUpdateReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        const change = parseInventoryUpdate(body)
        return presentInventoryUpdate(change.op, await apply(ctx, scope, change))
      },
    )

    http.post(
      '/orgs/:org_id/inventory/replace',
      {
        schema: {
          operationId: 'replaceOrgDevices',
          tags,
          params: OrgParams,
          body: ReplaceBody,
          response: { 200: InventoryUpdateReply },
        },
      },
      async ({ caller, params, body }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        await replaceDevice(ctx, scope, parseReplace(body))
        return presentReplace(body)
      },
    )
  }
}

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
