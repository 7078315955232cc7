import { type Static, Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { invalidField } from '../../platform/errors.ts'
import { plainMac } from '../device.ts'
import type { ReplaceRequest } from './replace-device.ts'
import type { InventoryUpdateReply } from './wire.ts'

/** Source: contract, `replace_device`. */
export const ReplaceBody = named(
  'DeviceReplacement',
  Type.Object({
    mac: textOf('mac', { description: 'of the device that is replaced' }),
    inventory_mac: textOf('mac', { description: 'of the unassigned device that takes its place' }),
    site_id: Type.Optional(Type.String({ maxLength: 36, description: 'where the replaced device has to be' })),
    discard: Type.Optional(
      Type.Array(Type.String({ maxLength: 200 }), {
        maxItems: 200,
        description: 'fields of the replaced device that the other one does not get',
      }),
    ),
    tunterm_port_config: Type.Optional(Type.Unknown({ description: 'of edge appliances: not supported' })),
  }),
)

/** @throws AppError invalid naming the field. */
export function parseReplace(body: Static<typeof ReplaceBody>): ReplaceRequest {
  const { site_id: siteId = '', discard = [], tunterm_port_config: ports } = body
  if (ports !== undefined && ports !== null)
    throw invalidField('tunterm_port_config', 'edge appliances are not replaced here')
  if (discard.includes('site_id')) throw invalidField('discard', "the site can't be discarded")
  return {
    mac: plainMac(body.mac),
    inventoryMac: plainMac(body.inventory_mac),
    siteId: siteId === '' ? null : siteId.toLowerCase(),
    discard,
  }
}

/** Answers as an assignment does, with the device's MAC as the client wrote it. */
export function presentReplace({
  inventory_mac: mac,
}: Static<typeof ReplaceBody>): Static<typeof InventoryUpdateReply> {
  return { op: 'assign', success: [mac], error: [], reason: [] }
}
