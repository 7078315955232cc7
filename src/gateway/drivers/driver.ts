import type { DeviceType } from '../../platform/schema/devices.ts'

/** What a driver must know of the device that it speaks to. */
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
  /** Blink, for as long as somebody needs to find it at most; and have the LEDs as they are set. */
  | { readonly kind: 'locate' | 'unlocate' }

export interface Call {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

/** What a device does to upgrade itself, in this order. */
export type UpgradeStep = 'download' | 'install'

/** How far a command is, by what its device said. */
export type Outcome =
  /** The device is at it; its events tell the end. `step`: how far it is, where it says so. */
  | { readonly kind: 'accepted'; readonly step?: UpgradeStep }
  | { readonly kind: 'done'; readonly text: string | null }
  | Rejection

/** The device certainly did not do it. */
export interface Rejection {
  readonly kind: 'rejected'
  readonly code: string
  readonly text: string
  /** It refused the content, not the moment: a further attempt would be refused as well. */
  readonly final: boolean
}

export interface CallToSend {
  readonly kind: 'call'
  readonly call: Call
  /** From sending to the end of the command: the reply, or the event that ends it. */
  readonly timeoutMs: number
}

export interface Reply {
  readonly result: unknown
  readonly error: unknown
}

/** What a device said by itself about the command that is in flight. */
export interface DeviceEvent {
  readonly type: string
  readonly payload: unknown
}

/** An event, with the step at which the device was when it last said so. */
export interface UpgradeEvent extends DeviceEvent {
  readonly lastStep: UpgradeStep | null
}

/** Translates between our commands and one device family's protocol. Pure: no socket, no clock, no database. */
export interface Driver {
  readonly family: string
  /** The call to send, or why this device can't be asked. */
  encode(device: DriverDevice, command: DriverCommand): CallToSend | Rejection
  /** Null for a reply that can't be understood, which proves nothing: the command stays in flight. */
  decodeReply(device: DriverDevice, kind: DriverCommand['kind'], reply: Reply): Outcome | null
  /** Null for an event that says nothing of the command. */
  decodeEvent(device: DriverDevice, kind: DriverCommand['kind'], event: UpgradeEvent): Outcome | null
}
