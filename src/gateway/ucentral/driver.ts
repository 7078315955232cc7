import type { DeviceCapabilities } from '../../devices/tables.ts'
import type { Call } from '../websockets/jsonrpc.ts'
import { type Capabilities, type GatewayCall, isResult, isRpcError, isUpgradeStatus } from './messages.ts'
import { deviceText } from '../device-text.ts'
import { encodeExtension, encodePartRestart, extensionOf } from './extension.ts'
import { decodePing, decodeSupport, encodePing, encodeSupport } from './scripts.ts'
import type {
  Address,
  Driver,
  DriverCommand,
  DriverDevice,
  EncodedCommand,
  Outcome,
  Rejection,
  SentCommand,
} from '../driver.ts'

/** The device acts immediately. Devices ignore any other time for a reboot. */
const NOW = 0

const REBOOT_TIMEOUT_MS = 30_000
const LEDS_TIMEOUT_MS = 30_000
/** The protocol specifies milliseconds, but access points read seconds. */
const BLINK_S = 600
/** An access point downloads and validates before it replies. */
const AP_UPGRADE_TIMEOUT_MS = 660_000
/** A switch replies immediately and sends an event after it has installed the image. */
const SWITCH_UPGRADE_TIMEOUT_MS = 1_800_000

/** JSON-RPC errors for a call that was not executed: unknown method, invalid request, invalid params, parse error. */
const neverExecuted: ReadonlySet<number> = new Set([-32601, -32600, -32602, -32700])

/** The device puts the address into a shell string. */
// oxlint-disable-next-line no-control-regex
const unsafeUri = /['"`$\\&;\s\u0000-\u001f\u007f]/

/**
 * The phrases by which clients report that the image or the request is invalid, so that another attempt would fail as
 * well.
 */
const refusesContent = /invalid (signature|parameters)|validation failed|no space/i

/**
 * With `keep_config`, an access point without a configuration sends this as an error and continues; the real reply
 * follows.
 * Source: wlan-ucentral-schema, `cmd_upgrade.uc`.
 */
const isRemark = /^Unable to determine active configuration/

/** TIP uCentral: access points and OLS switches. Source: wlan-cloud-ucentralgw PROTOCOL.md, and both clients' sources. */
export const ucentralDriver: Driver<UcentralMessages> = { capabilitiesOf, encode, decodeReply, decodeEvent }

export const FAMILY = 'ucentral'

interface UcentralMessages {
  readonly hello: Capabilities
  readonly call: Call
  readonly reply: Reply
  readonly event: DeviceEvent
}

export interface Reply {
  readonly result: unknown
  readonly error: unknown
}

/** An event that a device sent. */
export interface DeviceEvent {
  readonly type: string
  readonly payload: unknown
}

/** The switch client has no setting for another CA; its download would fail without a reason. */
const untrustedCertificate: Rejection = {
  kind: 'rejected',
  code: 'untrusted_certificate',
  text: 'The switch trusts only public CAs, but the device CA signed the certificate of the firmware server',
  final: true,
}

/** Neither client has a setting for another CA of uploads. */
const untrustedUpload: Rejection = {
  kind: 'rejected',
  code: 'untrusted_certificate',
  text: 'Devices trust only public CAs when they upload, but the device CA signed the certificate of the server',
  final: true,
}

const unsafeAddress: Rejection = {
  kind: 'rejected',
  code: 'unsafe_uri',
  text: 'the address is not safe in a shell',
  final: true,
}

/**
 * Only the client of access points controls LEDs: that of switches answers the unknown method with success and does
 * nothing.
 */
function capabilitiesOf(hello: Capabilities): DeviceCapabilities {
  const { commands, ...parts } = extensionOf(hello)
  const isSignedOnly = isRestricted(hello, 'sysupgrade')
  return {
    commands: [
      'restart',
      ...(isSignedOnly ? [] : (['upgrade'] as const)),
      ...(typeOf(hello) === 'ap' ? (['locate', 'unlocate'] as const) : []),
      ...(runsScripts(hello) ? (['ping'] as const) : []),
      'support',
      ...commands,
    ],
    ...parts,
    ...(isSignedOnly && { refusals: { ...parts.refusals, upgrade: signedOnly } }),
  }
}

/** Without the signature the access point would download the whole image before it refuses it. */
const signedOnly =
  'the access point installs only firmware that its maker has signed, and Signalbox has no signatures of makers: upgrade it on the access point itself'

/** Its own diagnostics are not a script, so an access point with the restriction collects them too. */
export function runsScripts(hello: Capabilities): boolean {
  return !isRestricted(hello, 'commands')
}

function isRestricted({ restrictions, developer }: Capabilities, to: 'commands' | 'sysupgrade'): boolean {
  return Boolean(restrictions?.[to]) && developer !== true
}

/** Some access points do not name their platform. */
export function typeOf({ platform }: Capabilities): 'ap' | 'switch' {
  return platform?.toLowerCase() === 'switch' ? 'switch' : 'ap'
}

function encode(device: DriverDevice, command: DriverCommand): EncodedCommand<Call> | Rejection {
  const serial = device.mac
  switch (command.kind) {
    case 'restart': {
      if (command.member !== undefined || command.node !== undefined) return encodePartRestart(device, command)
      const call = { method: 'reboot', params: { serial, when: NOW } }
      return { kind: 'call', call, timeoutMs: REBOOT_TIMEOUT_MS }
    }
    case 'upgrade': {
      if (unsafeUri.test(command.uri)) return unsafeAddress
      if (device.type === 'switch' && needsDeviceCa(command)) return untrustedCertificate
      const timeoutMs = device.type === 'switch' ? SWITCH_UPGRADE_TIMEOUT_MS : AP_UPGRADE_TIMEOUT_MS
      return { kind: 'call', call: { method: 'upgrade', params: upgradeParams(device, command) }, timeoutMs }
    }
    case 'stage':
      return unsafeUri.test(command.uri) ? unsafeAddress : encodeExtension(device, command, needsDeviceCa(command))
    case 'activate':
    case 'restore_backup':
    case 'snapshot':
      return encodeExtension(device, command, false)
    case 'locate':
    case 'unlocate': {
      // `on` ends the blinking and restores normal operation; `off` would leave the LEDs dark permanently.
      const params =
        command.kind === 'locate'
          ? { serial, when: NOW, duration: command.durationS ?? BLINK_S, pattern: 'blink' }
          : { serial, when: NOW, pattern: 'on' }
      return { kind: 'call', call: { method: 'leds', params }, timeoutMs: LEDS_TIMEOUT_MS }
    }
    case 'ping':
      return encodePing(device, command)
    case 'support':
      if (unsafeUri.test(command.uri)) return unsafeAddress
      return needsDeviceCa(command) ? untrustedUpload : encodeSupport(device, command)
  }
}

type UpgradeCommand = Extract<DriverCommand, { kind: 'upgrade' }>

/** A transfer over plain HTTP verifies no certificate, so its issuer does not matter. */
function needsDeviceCa({ uri, localCertificates }: Address): boolean {
  return localCertificates && /^https:/i.test(uri)
}

/**
 * Without `keep_redirector`, an access point loses its key, its certificate and the gateway's address when it flashes,
 * and never reconnects. Source: wlan-ucentral-schema, `cmd_upgrade.uc`.
 */
function upgradeParams({ mac, type }: DriverDevice, command: UpgradeCommand): GatewayCall<'upgrade'> {
  return {
    serial: mac,
    when: NOW,
    uri: command.uri,
    keep_redirector: true,
    keep_config: true,
    // If the field is absent, an access point trusts the public CAs; with `false` it expects certificates in the call.
    ...(type === 'ap' && needsDeviceCa(command) && { 'use-local-certificates': true as const }),
  }
}

function decodeReply({ device, kind }: SentCommand, { result, error }: Reply): Outcome | null {
  if (isRpcError(error)) {
    return neverExecuted.has(error.code) ? { ...rejected(error.code, error.message), final: true } : null
  }
  if (kind === 'ping') return decodePing(result)
  if (kind === 'support') return decodeSupport(result)
  if (!isResult(result)) return null
  const { error: code, text = '' } = result.status
  if (kind === 'upgrade' && isRemark.test(text)) return null
  if (code !== 0) return rejected(code, text)
  if (kind === 'upgrade' && device.type === 'switch') return { kind: 'accepted' }
  return { kind: 'done', text: deviceText(text) }
}

const installFailed: Rejection = {
  kind: 'rejected',
  code: 'install_failed',
  text: 'the device could not install it',
  final: false,
}
const downloadFailed: Rejection = {
  kind: 'rejected',
  code: 'download_failed',
  text: 'the device could not download it',
  final: false,
}

/** Events carry no command id, but a device has at most one command in flight. */
function decodeEvent({ device, kind, lastStep }: SentCommand, { type, payload }: DeviceEvent): Outcome | null {
  if (kind !== 'upgrade' || device.type !== 'switch') return null
  if (type !== 'firmware_upgrade_status' || !isUpgradeStatus(payload)) return null
  switch (payload.operation) {
    case 'download':
    case 'install':
      return { kind: 'accepted', step: payload.operation }
    case 'success':
      return { kind: 'done', text: null }
    case 'fail':
      return lastStep === 'download' ? downloadFailed : installFailed
    case 'idle':
      return null
  }
}

/** True if the event reports how an upgrade of the device ended. */
export function endsUpgrade({ type, payload }: DeviceEvent): boolean {
  if (type !== 'firmware_upgrade_status' || !isUpgradeStatus(payload)) return false
  return payload.operation === 'success' || payload.operation === 'fail'
}

function rejected(code: number, text: string): Rejection {
  return { kind: 'rejected', code: String(code), text: deviceText(text), final: refusesContent.test(text) }
}
