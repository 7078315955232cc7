import type { DeviceType } from '../platform/schema/devices.ts'

/** The facts about a device that a driver needs. */
export interface DriverDevice {
  /** Twelve lower-case hex digits. */
  readonly mac: string
  readonly type: DeviceType
  readonly capabilities: Readonly<Record<string, unknown>>
}

export type DriverCommand =
  | { readonly kind: 'restart'; readonly member?: number; readonly node?: 'node0' | 'node1' }
  /**
   * Download, install and reboot in one step. `localCertificates`: the CA of the device's own certificate also signed
   * the certificate of the HTTPS server; that matters only where `uri` is an https address.
   */
  | { readonly kind: 'upgrade'; readonly uri: string; readonly localCertificates: boolean }
  /** `locate` blinks for a limited time; `unlocate` restores the configured LEDs. */
  | { readonly kind: 'locate' | 'unlocate' }

/** The steps of an upgrade, in this order. */
export type UpgradeStep = 'download' | 'install'

/** The progress or the result of a command, as its device reported it. */
export type Outcome =
  /** The device is executing the command and reports the end by an event. `step` is present where the device names it. */
  | { readonly kind: 'accepted'; readonly step?: UpgradeStep }
  | { readonly kind: 'done'; readonly text: string | null }
  | Rejection

/** The device certainly did not execute the command. */
export interface Rejection {
  readonly kind: 'rejected'
  readonly code: string
  readonly text: string
  /** True when the device refused the content, so that another attempt would fail as well. */
  readonly final: boolean
}

/** A command in the words of a protocol. */
export interface EncodedCommand<Call> {
  readonly kind: 'call'
  readonly call: Call
  /** From sending the call to the reply or event that ends the command. */
  readonly timeoutMs: number
}

/** A command that was sent, as the driver needs it to understand what the device says about it. */
export interface SentCommand {
  readonly device: DriverDevice
  readonly kind: DriverCommand['kind']
  /** The step that the device reported last. */
  readonly lastStep: UpgradeStep | null
}

/**
 * Translates between commands and the messages of one protocol: calls to the device, its replies, and its events. Pure:
 * no socket, no clock, no database.
 */
export interface Driver<Call, Reply, Event> {
  /** Returns the call to send, or the reason why the device can't execute the command. */
  encode(device: DriverDevice, command: DriverCommand): EncodedCommand<Call> | Rejection
  /** Returns null for a reply that can't be understood: it proves nothing, so the command stays in flight. */
  decodeReply(sent: SentCommand, reply: Reply): Outcome | null
  /** Returns null for an event that does not concern the command. */
  decodeEvent(sent: SentCommand, event: Event): Outcome | null
}
