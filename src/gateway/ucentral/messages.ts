import { type Static, type TSchema, Type } from 'typebox'
import { checkOf } from '../../platform/json/check-of.ts'
import { Extension, extensionCalls, extensionChecks } from './extension-messages.ts'
import { Script } from './script-messages.ts'

/**
 * The params of the uCentral messages that Signalbox understands, in both directions. Unknown members
 * are allowed, because every firmware release adds some.
 * Source: wlan-cloud-ucentralgw, PROTOCOL.md.
 */

/** A MAC address without separators; some firmwares send upper case. */
const Serial = Type.String({ pattern: '^[0-9a-fA-F]{12}$' })
const ShortText = Type.String({ maxLength: 256 })

export const Capabilities = Type.Object({
  /** The hardware name, such as `edgecore_eap101`: firmware is built for it, and the inventory shows it as the model. */
  compatible: Type.String({ minLength: 1, maxLength: 256 }),
  /** The name on the box. */
  model: Type.Optional(ShortText),
  /** The number on the label, if the firmware knows it; stock firmware uses the MAC instead. */
  serial_number: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  /** `ap` or `switch`, in upper or lower case; some access points send `unknown` or nothing. */
  platform: Type.Optional(ShortText),
  /**
   * The maker's restrictions, as a file of the maker has them. With `commands`, an access point runs only scripts that the maker has
   * signed; with `sysupgrade` it installs only such firmware. Any value but false, null, 0 and an empty text counts.
   */
  restrictions: Type.Optional(
    Type.Object({ commands: Type.Optional(Type.Unknown()), sysupgrade: Type.Optional(Type.Unknown()) }),
  ),
  /** True on a device that is exempt from its restrictions. */
  developer: Type.Optional(Type.Boolean()),
  'x-signalbox': Type.Optional(Extension),
})
export type Capabilities = Static<typeof Capabilities>

export const Connect = Type.Object({
  serial: Serial,
  uuid: Type.Optional(Type.Number()),
  firmware: Type.String({ minLength: 1, maxLength: 256 }),
  capabilities: Capabilities,
  /**
   * Why the client connects. Access points send `socket` for a broken connection, otherwise the reason of the client's
   * start: `coldboot`, `reboot`, `upgrade`, `upgradefailed`, `crashlog`, `recovery` (its watchdog). Switches send none.
   */
  reason: Type.Optional(ShortText),
})
export type Connect = Static<typeof Connect>

const StateParts = {
  /** Its content is decoded member by member (`state/decode-state.ts`), because firmwares differ in it. */
  state: Type.Object({}),
  /** The version of the configuration that the device has applied. */
  uuid: Type.Optional(Type.Unknown()),
}

export const State = Type.Object({ serial: Serial, ...StateParts })
export type State = Static<typeof State>

/** The number of states that a device collects between two reports; it sends one per interval. */
const MAX_STATES = 64

/** A report that the gateway requested: for each type, a list of pairs of epoch seconds and content. */
export const Telemetry = Type.Object({
  serial: Serial,
  data: Type.Optional(
    Type.Object({
      state: Type.Optional(Type.Array(Type.Tuple([Type.Number(), Type.Object(StateParts)]), { maxItems: MAX_STATES })),
    }),
  ),
})
export type Telemetry = Static<typeof Telemetry>

export const Healthcheck = Type.Object({
  serial: Serial,
  /** Percent. */
  sanity: Type.Number({ minimum: 0, maximum: 100 }),
})
export type Healthcheck = Static<typeof Healthcheck>

export const Log = Type.Object({ serial: Serial, log: Type.String(), severity: Type.Optional(Type.Number()) })
export type Log = Static<typeof Log>

/** One event on a device, timed by the device's clock. */
export const DeviceEvent = Type.Object({
  serial: Serial,
  data: Type.Object({
    event: Type.Tuple([Type.Number(), Type.Object({ type: ShortText, payload: Type.Optional(Type.Unknown()) })]),
  }),
})
export type DeviceEvent = Static<typeof DeviceEvent>

/** Payload of a switch's `firmware_upgrade_status` event. */
export const UpgradeStatus = Type.Object({
  operation: Type.Union([
    Type.Literal('idle'),
    Type.Literal('download'),
    Type.Literal('install'),
    Type.Literal('fail'),
    Type.Literal('success'),
  ]),
  percentage: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
})
export type UpgradeStatus = Static<typeof UpgradeStatus>

/** What an access point hears, sent at the interval that its configuration has for it. */
export const WifiScan = Type.Object({
  serial: Serial,
  /** Its content is decoded cell by cell. */
  data: Type.Optional(Type.Unknown()),
})
export type WifiScan = Static<typeof WifiScan>

export const Recovery = Type.Object({
  serial: Serial,
  firmware: Type.Optional(ShortText),
  /** True if the device requests a reboot. */
  reboot: Type.Optional(Type.Boolean()),
})
export type Recovery = Static<typeof Recovery>

/** Sent now and then (`ping`), or when a configuration waits to be applied (`cfgpending`). */
export const ConfigVersions = Type.Object({
  serial: Serial,
  /** The version of the newest configuration that the device has received. */
  uuid: Type.Optional(Type.Unknown()),
  /** The version that the device has applied; `ping` has it only where it is another one. */
  active: Type.Optional(Type.Unknown()),
})
export type ConfigVersions = Static<typeof ConfigVersions>

/** Messages whose content is ignored; only the sender matters. */
const Sender = Type.Object({ serial: Serial })

/** Messages from device to gateway: the shape of the params by method. */
const deviceMessages = {
  connect: Connect,
  state: State,
  healthcheck: Healthcheck,
  log: Log,
  event: DeviceEvent,
  recovery: Recovery,
  ping: ConfigVersions,
  alarm: Sender,
  telemetry: Telemetry,
  wifiscan: WifiScan,
  deviceupdate: Sender,
  cfgpending: ConfigVersions,
  crashlog: Sender,
  rebootLog: Sender,
  venue_broadcast: Sender,
} as const satisfies Record<string, TSchema>
export type DeviceMethod = keyof typeof deviceMessages
export type DeviceMessage<M extends DeviceMethod> = Static<(typeof deviceMessages)[M]>

/** When to act, in epoch seconds; 0 means now. Real devices ignore it for a reboot. */
const When = Type.Optional(Type.Integer({ minimum: 0 }))

export const Reboot = Type.Object({ serial: Serial, when: When })
export type Reboot = Static<typeof Reboot>

export const Upgrade = Type.Object({
  serial: Serial,
  when: When,
  uri: Type.String({ minLength: 1, maxLength: 2048 }),
  /** Keeps the key, the certificates and the gateway's address, which the device needs to reconnect. */
  keep_redirector: Type.Optional(Type.Boolean()),
  keep_config: Type.Optional(Type.Boolean()),
  /** Verifies the download server by the gateway's CA instead of the public CAs. Access points only. */
  'use-local-certificates': Type.Optional(Type.Literal(true)),
})
export type Upgrade = Static<typeof Upgrade>

const Leds = Type.Object({
  serial: Serial,
  when: When,
  /** The duration of `blink`. */
  duration: Type.Optional(Type.Integer({ minimum: 0 })),
  pattern: Type.Union([Type.Literal('on'), Type.Literal('off'), Type.Literal('blink')]),
})
export type Leds = Static<typeof Leds>

/** Starts regular reports without a configuration; an interval of 0 ends them. */
const TelemetryOrder = Type.Object({
  serial: Serial,
  /** Seconds. */
  interval: Type.Integer({ minimum: 0 }),
  types: Type.Optional(Type.Array(Type.Literal('state'))),
})
export type TelemetryOrder = Static<typeof TelemetryOrder>

/** Requests one report at once, which then names `request_uuid`. */
const ReportRequest = Type.Object({
  serial: Serial,
  message: Type.Union([Type.Literal('state'), Type.Literal('healthcheck')]),
  request_uuid: Type.String(),
})

/** Calls from gateway to device: the shape of the params by method. */
const gatewayCalls = {
  reboot: Reboot,
  upgrade: Upgrade,
  ...extensionCalls,
  leds: Leds,
  telemetry: TelemetryOrder,
  request: ReportRequest,
  script: Script,
} as const satisfies Record<string, TSchema>
export type GatewayMethod = keyof typeof gatewayCalls
export type GatewayCall<M extends GatewayMethod> = Static<(typeof gatewayCalls)[M]>

/** A device's reply: `error` 0 means success; the meaning of other values depends on the method. */
export const Result = Type.Object({
  serial: Type.Optional(Serial),
  uuid: Type.Optional(Type.Number()),
  status: Type.Object({ error: Type.Integer(), text: Type.Optional(Type.String()) }),
})
export type Result = Static<typeof Result>

/** The error object of JSON-RPC: stock devices never send it, simulated devices and other agents do. */
export const RpcError = Type.Object({ code: Type.Integer(), message: Type.String() })
export type RpcError = Static<typeof RpcError>

const deviceChecks = {
  connect: checkOf(Connect),
  state: checkOf(State),
  healthcheck: checkOf(Healthcheck),
  log: checkOf(Log),
  event: checkOf(DeviceEvent),
  recovery: checkOf(Recovery),
  ping: checkOf(ConfigVersions),
  alarm: checkOf(Sender),
  telemetry: checkOf(Telemetry),
  wifiscan: checkOf(WifiScan),
  deviceupdate: checkOf(Sender),
  cfgpending: checkOf(ConfigVersions),
  crashlog: checkOf(Sender),
  rebootLog: checkOf(Sender),
  venue_broadcast: checkOf(Sender),
} satisfies Record<DeviceMethod, Check>

const gatewayChecks = {
  reboot: checkOf(Reboot),
  upgrade: checkOf(Upgrade),
  ...extensionChecks,
  leds: checkOf(Leds),
  telemetry: checkOf(TelemetryOrder),
  request: checkOf(ReportRequest),
  script: checkOf(Script),
} satisfies Record<GatewayMethod, Check>

type Check = (value: unknown) => boolean

export function isDeviceMethod(method: string): method is DeviceMethod {
  return Object.hasOwn(deviceMessages, method)
}

/** False for messages whose content is ignored. */
export function isContentRead(method: DeviceMethod): boolean {
  return deviceMessages[method] !== Sender
}

export function isDeviceMessage<M extends DeviceMethod>(method: M, params: unknown): params is DeviceMessage<M> {
  return deviceChecks[method](params)
}

export function isGatewayCall<M extends GatewayMethod>(method: M, params: unknown): params is GatewayCall<M> {
  return gatewayChecks[method](params)
}

export const isUpgradeStatus = checkOf(UpgradeStatus)
export const isResult = checkOf(Result)
export const isRpcError = checkOf(RpcError)
