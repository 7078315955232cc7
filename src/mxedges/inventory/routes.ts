import type { OrgScope } from '../../access/scope.ts'
import type { ClaimGuesses } from '../../devices/inventory/claim-guesses.ts'
import type { ChangeReport } from '../../devices/inventory/select-devices.ts'
import {
  ClaimBody,
  ClaimReply,
  type InventoryChange,
  InventoryUpdateBody,
  InventoryUpdateReply,
  parseInventoryUpdate,
  presentClaim,
  presentInventoryUpdate,
} from '../../devices/inventory/wire.ts'
import { org } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { ListErrorReply } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import type { ImageFiles } from '../../platform/images/image-files.ts'
import { assignHardware, checkHardware, unassignHardware, unclaimHardware } from './change-hardware.ts'
import { claimHardware } from './claim-hardware.ts'

const tag = 'Orgs Inventory'

/**
 * Changes of the inventory that cover both devices and edge appliances. Edge appliances have their own registry, which
 * `devices` doesn't know. Source: contract, Orgs Inventory.
 */
export function inventoryChangeOperations(files: ImageFiles, guesses: ClaimGuesses): Operation[] {
  return [
    operation({
      id: 'addOrgInventory',
      summary: 'Claim devices for an organization',
      method: 'POST',
      tag,
      at: org('/inventory', { needs: 'write' }),
      body: ClaimBody,
      reply: ClaimReply,
      errors: { 400: ListErrorReply },
      run: async (ctx, { scope, caller: { principal }, body }) =>
        presentClaim(await guesses.limit({ scope, principal }, () => claimHardware(ctx, scope, body))),
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
        return presentInventoryUpdate(change.op, await apply(ctx, scope, { files, change }))
      },
    }),
  ].flat()
}

function apply(
  ctx: Context,
  scope: OrgScope,
  { files, change }: { readonly files: ImageFiles; readonly change: InventoryChange },
): Promise<ChangeReport> {
  switch (change.op) {
    case 'assign':
      return assignHardware(ctx, scope, change)
    case 'unassign':
      return unassignHardware(ctx, scope, change.names)
    case 'delete':
      return unclaimHardware(ctx, scope, { files, names: change.names })
    case 'upgrade_to_mist':
      return checkHardware(ctx, scope, { names: change.names, refusal: null })
    case 'downgrade_to_jsi':
      return checkHardware(ctx, scope, { names: change.names, refusal: 'there is no other service to manage it' })
  }
}
