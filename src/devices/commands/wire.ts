import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { epochS } from '../../platform/time/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import { plainMac } from '../device.ts'
import { type PingParams, type RestartParams, commandKinds, commandStates } from './command.ts'
import { isHost, isInterface } from './host.ts'
import type { LocateRequest } from './locate-device.ts'
import type { ListedCommand } from './store-list.ts'
import { OFFLINE, type RestartReport } from './restart-device.ts'

/** Source: contract, `utils_devices_restart_multi`. */
export const RestartDevicesBody = named(
  'DevicesRestart',
  Type.Object({
    device_ids: Type.Array(Uuid, { minItems: 1, maxItems: 1000 }),
    node: Type.Optional(textOf('nodeOrEmpty', { description: '`node0` or `node1`, of clusters; without it, both' })),
  }),
)

export function parseRestartDevices({ device_ids: deviceIds, node }: Static<typeof RestartDevicesBody>): {
  readonly deviceIds: readonly string[]
  readonly part: RestartParams
} {
  return { deviceIds, part: node === 'node0' || node === 'node1' ? { node } : {} }
}

/** Source: contract notes, 11. */
export const RestoreDevicesBody = named(
  'DevicesRestore',
  Type.Object({ device_ids: Type.Array(Uuid, { minItems: 1, maxItems: 1000 }) }),
)

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
  Type.Object({
    duration: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 120, default: DEFAULT_LOCATE_MIN, description: 'minutes' }),
    ),
    mac: Type.Optional(textOf('macOrEmpty', { description: 'of the part that blinks: that of the device' })),
  }),
)

export function parseLocate({ duration, mac }: Static<typeof LocateBody>): Omit<LocateRequest, 'deviceId'> {
  const order = { kind: 'locate', params: { duration_s: (duration ?? DEFAULT_LOCATE_MIN) * 60 } } as const
  return { order, mac: mac ? plainMac(mac) : null }
}

const DEFAULT_PINGS = 10
const DEFAULT_PING_BYTES = 56

/** Source: contract, `utils_ping`. */
export const PingBody = named(
  'DevicePing',
  Type.Object({
    host: Type.String({ minLength: 1, maxLength: 253, description: 'an IP address or a host name' }),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: DEFAULT_PINGS })),
    size: Type.Optional(
      Type.Integer({ minimum: 56, maximum: 65_535, default: DEFAULT_PING_BYTES, description: 'bytes of data' }),
    ),
    egress_interface: Type.Optional(Type.String({ maxLength: 15, description: 'of the device, such as `eth0`' })),
    node: Type.Optional(Type.Enum(['node0', 'node1'], { description: 'is refused: devices ping as a whole' })),
  }),
)

/** @throws AppError invalid naming the field. */
export function parsePing(body: Static<typeof PingBody>): PingParams {
  const { host, count = DEFAULT_PINGS, size = DEFAULT_PING_BYTES, egress_interface: egress = '', node } = body
  if (!isHost(host)) throw invalidField('host', `${JSON.stringify(host)} is neither an IP address nor a host name`)
  if (egress !== '' && !isInterface(egress))
    throw invalidField('egress_interface', `${JSON.stringify(egress)} is not the name of an interface`)
  if (node !== undefined) throw invalidField('node', `the device can't ping from node ${node} alone`)
  return { host, count, size, ...(egress !== '' && { egress_interface: egress }) }
}

export const PingReply = named(
  'DevicePingSession',
  Type.Object({ session: Type.String({ description: 'the id of the command, which stores the output' }) }),
)

/** The reason in the record of a command. */
export const CommandReason = Type.String({
  description:
    'why the command was rejected, or why its end is unknown: `timeout` without an answer, `connection_lost` if the connection broke, `gateway_lost` if the service ended',
})

const commandFields = {
  id: Uuid,
  device_id: Uuid,
  upgrade_id: Type.Optional(Type.String({ format: 'uuid', description: 'the site upgrade that it belongs to' })),
  kind: Type.Enum(commandKinds),
  params: Type.Record(Type.String(), Type.Unknown()),
  status: Type.Enum(commandStates, {
    description: '`unknown`: the device may have done it, but its answer was not received',
  }),
  reason: Type.Optional(CommandReason),
  created_time: Timestamp,
  sent_time: Type.Optional(Timestamp),
  finished_time: Type.Optional(Timestamp),
}

export const CommandReply = named('DeviceCommand', Type.Object(commandFields))

export const CommandDetailReply = named(
  'DeviceCommandDetail',
  Type.Object({ ...commandFields, output: Type.Optional(Type.String({ description: 'the answer of the device' })) }),
)

export function presentCommand(command: ListedCommand): Static<typeof CommandReply> {
  const { id, deviceId, siteUpgradeId, kind, params, state, outcome, createdAt, sentAt, finishedAt } = command
  const reason = state === 'rejected' ? outcome?.text : outcome?.why
  return {
    id,
    device_id: deviceId,
    ...(siteUpgradeId !== null && { upgrade_id: siteUpgradeId }),
    kind,
    params,
    status: state,
    ...(reason != null && { reason }),
    created_time: epochS(createdAt),
    ...(sentAt !== null && { sent_time: epochS(sentAt) }),
    ...(finishedAt !== null && { finished_time: epochS(finishedAt) }),
  }
}

export function presentCommandDetail(command: ListedCommand): Static<typeof CommandDetailReply> {
  const output = command.state === 'done' ? command.outcome?.text : null
  return { ...presentCommand(command), ...(output != null && { output }) }
}
