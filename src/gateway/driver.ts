import type { DeviceCapabilities } from '../devices/tables.ts'
import type { ImageFile } from '../firmware/storage/store-image-files.ts'
import type { DeviceType } from '../events/device-type.ts'

/** The facts about a device that a driver needs. */
export interface DriverDevice {
  /** Twelve lower-case hex digits. */
  readonly mac: string
  readonly type: DeviceType
}

export type DriverCommand =
  | { readonly kind: 'restart'; readonly member?: number; readonly node?: 'node0' | 'node1' }
  /** Download, install and reboot in one step. */
  | ({ readonly kind: 'upgrade' } & Download)
  /** Downloads the image and stores it for `activate`, which installs it and reboots. */
  | ({ readonly kind: 'stage' } & Download)
  | ({ readonly kind: 'activate' } & Image)
  /** Boots the firmware that the device ran before: `version`, if the device has reported it. */
  | { readonly kind: 'restore_backup'; readonly version?: string }
  /** Update the recovery system of the device. */
  | { readonly kind: 'snapshot' }
  /** Blinks for a limited time; if `durationS` is absent, for the driver's usual duration. */
  | { readonly kind: 'locate'; readonly durationS?: number }
  /** Restores the configured LEDs. */
  | { readonly kind: 'unlocate' }
  | Ping
  /** Collects the files that the device's maker requests, and uploads them as a form. */
  | ({ readonly kind: 'support' } & Address)

/** Sends `count` pings and reports the output of the device's own program. */
export interface Ping {
  readonly kind: 'ping'
  /** An IP address or a host name: see isHost(). */
  readonly host: string
  readonly count: number
  /** Bytes of data in each packet. */
  readonly size: number
  /** See isInterface(). */
  readonly egressInterface?: string
}

export interface Image {
  readonly version: string
  /** SHA-256 in lower-case hex. */
  readonly sha256: string
}

/** The URL for a device's download or upload. */
export interface Address {
  readonly uri: string
  /**
   * True when the CA of the device's own certificate also signed the certificate of the HTTPS server. That matters only
   * where `uri` is an https address.
   */
  readonly localCertificates: boolean
}

/** An image that the device downloads; `ImageFile` describes the members that it is checked by. */
export type Download = Image & Address & ImageFile

/** The steps of an upgrade, in this order. */
export type UpgradeStep = 'download' | 'install'

/** The progress or the result of a command, as its device reported it. */
export type Outcome =
  /** The device is executing the command and reports the end by an event. `step` is present where the device names it. */
  | { readonly kind: 'accepted'; readonly step?: UpgradeStep }
  /**
   * A part of the device restarts. The command ends when the link sees it return: other commands may be sent until
   * then.
   */
  | { readonly kind: 'returning' }
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

/** A command as a call of a protocol. */
export interface EncodedCommand<Call> {
  readonly kind: 'call'
  readonly call: Call
  /** From sending the call to the reply or event that ends the command. */
  readonly timeoutMs: number
}

/** A sent command, as the driver needs it to interpret the device's messages about it. */
export interface SentCommand {
  /** Agents name it in their replies. */
  readonly id: string
  readonly device: DriverDevice
  readonly kind: DriverCommand['kind']
  /** The step that the device reported last. */
  readonly lastStep: UpgradeStep | null
}

/** The messages of a protocol, decoded as far as it can be done without knowing the command that they concern. */
export interface Messages {
  /** The facts that a device reports when it connects. */
  readonly hello: unknown
  readonly call: unknown
  readonly reply: unknown
  readonly event: unknown
}

/** Translates between commands and the messages of one protocol. Pure: no socket, no clock, no database. */
export interface Driver<M extends Messages> {
  capabilitiesOf(hello: M['hello']): DeviceCapabilities
  /**
   * Returns the call to send, or the reason why the device can't execute the command. The caller has checked that it is
   * one of the device's capabilities.
   */
  encode(device: DriverDevice, command: DriverCommand): EncodedCommand<M['call']> | Rejection
  /** Returns null for a reply that can't be understood: it proves nothing, so the command stays in flight. */
  decodeReply(sent: SentCommand, reply: M['reply']): Outcome | null
  /** Returns null for an event that does not concern the command. */
  decodeEvent(sent: SentCommand, event: M['event']): Outcome | null
}
