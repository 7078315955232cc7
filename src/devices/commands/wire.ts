import { type Static, Type } from 'typebox'
import { Uuid, named } from '../../http/schemas.ts'
import { invalidField } from '../../platform/errors.ts'
import { parseMac } from '../device.ts'
import type { RestartParams } from './command.ts'
import type { LocateRequest } from './locate-device.ts'
import { OFFLINE, type RestartReport } from './restart-device.ts'

/** Source: contract, `utils_devices_restart_multi`. */
export const RestartDevicesBody = named(
  'DevicesRestart',
  Type.Object(
    {
      device_ids: Type.Array(Uuid, { minItems: 1, maxItems: 1000 }),
      node: Type.Optional(Type.Enum(['node0', 'node1'], { description: 'of clusters; without it, both' })),
    },
    { additionalProperties: true },
  ),
)

export function parseRestartDevices({ device_ids: deviceIds, node }: Static<typeof RestartDevicesBody>): {
  readonly deviceIds: readonly string[]
  readonly part: RestartParams
} {
  return { deviceIds, part: node === undefined ? {} : { node } }
}

export const RestartDevicesReply = named(
  'DevicesRestartReport',
  Type.Object({
    restarted: Type.Array(Uuid, { description: 'the devices that restart' }),
    error: Type.Array(Uuid, { description: 'the devices that do not restart' }),
    reason: Type.Array(Type.String(), { description: 'parallel to `error`' }),
  }),
)

export function presentRestarts({ restarted, offline }: RestartReport): Static<typeof RestartDevicesReply> {
  return { restarted: [...restarted], error: [...offline], reason: offline.map(() => OFFLINE) }
}

const DEFAULT_LOCATE_MIN = 5

/** Source: contract, `utils_devices_locate`. */
export const LocateBody = named(
  'DeviceLocate',
  Type.Object(
    {
      duration: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 120, default: DEFAULT_LOCATE_MIN, description: 'minutes' }),
      ),
      mac: Type.Optional(Type.String({ maxLength: 20, description: 'of the part that blinks: that of the device' })),
    },
    { additionalProperties: true },
  ),
)

/** @throws AppError invalid naming `mac`. */
export function parseLocate({ duration, mac }: Static<typeof LocateBody>): Omit<LocateRequest, 'deviceId'> {
  const plainMac = mac === undefined || mac === '' ? null : parseMac(mac)
  if (plainMac === null && mac) throw invalidField('mac', `${mac} is not a MAC address`)
  return { order: { kind: 'locate', params: { duration_s: (duration ?? DEFAULT_LOCATE_MIN) * 60 } }, mac: plainMac }
}
