import { type Static, Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { invalidField } from '../../platform/errors.ts'
import { parseMac } from '../device.ts'
import type { ReplaceRequest } from './replace-device.ts'
import type { InventoryUpdateReply } from './wire.ts'

const Mac = Type.String({ maxLength: 17 })

/** Source: contract, `replace_device`. */
export const ReplaceBody = named(
  'DeviceReplacement',
  Type.Object({
    mac: Type.String({ ...Mac, description: 'of the device that is replaced' }),
    inventory_mac: Type.String({ ...Mac, description: 'of the unassigned device that takes its place' }),
    site_id: Type.Optional(Type.String({ maxLength: 36, description: 'where the replaced device has to be' })),
    discard: Type.Optional(
      Type.Array(Type.String({ maxLength: 200 }), {
        maxItems: 200,
        description: 'fields of the replaced device that the other one does not take',
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
    mac: macOf('mac', body.mac),
    inventoryMac: macOf('inventory_mac', body.inventory_mac),
    siteId: siteId === '' ? null : siteId.toLowerCase(),
    discard,
  }
}

function macOf(field: string, text: string): string {
  const mac = parseMac(text)
  if (mac === null) throw invalidField(field, 'is no MAC address')
  return mac
}

/** Answers as an assignment does, with the device's MAC as the client wrote it. */
export function presentReplace({
  inventory_mac: mac,
}: Static<typeof ReplaceBody>): Static<typeof InventoryUpdateReply> {
  return { op: 'assign', success: [mac], error: [], reason: [] }
}
