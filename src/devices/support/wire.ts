import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { epochS } from '../../platform/time/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import { supportReadUrl } from './file-url.ts'
import type { SupportFile } from './store.ts'

/** Source: contract, `utils_devices_support`. */
export const SupportBody = named(
  'DeviceSupport',
  Type.Object({
    info: Type.Optional(
      Type.Enum(['code-dumps', 'full', 'messages', 'outbound-ssh', 'process', 'var-logs'], {
        default: 'full',
        description: 'devices collect everything: any other value is refused',
      }),
    ),
    node: Type.Optional(Type.String({ maxLength: 20, description: 'is refused: devices have one collection' })),
    num_messages_files: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10, default: 1, description: 'concerns `messages` only' }),
    ),
  }),
)

/** @throws AppError invalid for a part of the collection. */
export function checkSupport({ info = 'full', node }: Static<typeof SupportBody>): void {
  if (info !== 'full') throw invalidField('info', `${info} is not possible: the device collects everything, as in full`)
  if (node !== undefined && node !== '') throw invalidField('node', "the device can't collect from one node alone")
}

export const SupportSession = named('SupportSession', Type.Object({ session: Uuid }))

/** The properties that the files of all machines have. */
export const supportFileProperties = {
  id: Type.String({ format: 'uuid', description: 'also of the command' }),
  bytes: Type.Integer(),
  url: Type.String({ description: 'works for an hour, without credentials' }),
  created_time: Timestamp,
}

export const SupportFileReply = named('SupportFile', Type.Object({ ...supportFileProperties, device_id: Uuid }))

export function presentSupportFile(ctx: Context, orgId: string, { id, bytes, createdAt }: SupportFile) {
  return { id, bytes, url: supportReadUrl(ctx, { orgId, commandId: id }), created_time: epochS(createdAt) }
}

export function presentDeviceFile(
  ctx: Context,
  { orgId, deviceId }: { readonly orgId: string; readonly deviceId: string },
  file: SupportFile,
): Static<typeof SupportFileReply> {
  return { ...presentSupportFile(ctx, orgId, file), device_id: deviceId }
}
