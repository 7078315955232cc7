import type { CommandProgress } from '../../devices/tables.ts'
import type { DriverCommand, DriverDevice, Outcome, Rejection, SentCommand } from '../driver.ts'

/** The epoch of a link before its connection is recorded; it is lower than any in the database. */
export const NO_EPOCH = '0'

/**
 * Why the gateway closes a link. `replaced`: the device has a newer one. `restart`: the service stops. `try_again`: the
 * gateway lost its lease, so the device must connect again. `revoked`: its certificate was revoked. `unregistered`: another edge appliance may register in its place.
 */
export type CloseReason = 'replaced' | 'unregistered' | 'restart' | 'try_again' | 'revoked'

/** One connection of a device or an edge appliance that has proved its identity, whatever its protocol. */
export interface Link {
  /** The id of the device or of the edge appliance. */
  readonly deviceId: string
  /** NO_EPOCH until LinkSide.connect sets it. */
  epoch: string
  /** True once LinkSide.onClosed has been or is being called. */
  readonly isClosed: boolean
  close(reason: CloseReason): void
}

/** A link of a device. */
export interface DeviceLink extends Link {
  /** The name of the protocol; `device_session.family` records it. */
  readonly family: string
  /** Twelve lower-case hex digits. */
  readonly mac: string
  /** The organization whose credentials the device proved; null if it proved its own identity. */
  readonly orgId: string | null
  /** SHA-256 of the key that an SSR router has proved; absent for other devices. */
  readonly routerKey?: string
  /**
   * The serial number of the client certificate, which may be revoked: see plainSerial(). Absent for devices that prove
   * a key.
   */
  readonly certificateSerial?: string
  /** Absent for devices that prove a key. */
  readonly certificateExpiresAt?: Date
  send(command: LinkCommand): SendResult
}

export interface LinkCommand {
  /** Names the call for good: it is unique over links and restarts. */
  readonly callId: number
  /** The id of the command's row, for devices that recognize a command which they have executed before. */
  readonly commandId: string
  readonly device: DriverDevice
  readonly order: DriverCommand
}

export type SendResult =
  /** The device has `timeoutMs` for the reply or event that ends the command. */
  | { readonly kind: 'sent'; readonly timeoutMs: number }
  /** The command was certainly not sent, and may be sent later. */
  | { readonly kind: 'unsent' }
  | Rejection

/** A step of a command that takes several calls. */
export interface LinkProgress {
  readonly progress: CommandProgress
  /** The time limit until the next report or reply. */
  readonly timeoutMs: number
}

/** Decodes the meaning of a reply or an event for a command that was sent; null: none. */
export type Decode<S = SentCommand> = (sent: S) => Outcome | null

/** An event that a device sent; it may concern a command. */
export interface LinkEvent<S = SentCommand> {
  readonly decode: Decode<S>
  /**
   * The end of an upgrade of the device, if the event reports it without naming the upgrade: in epoch seconds by the
   * device's own clock.
   */
  readonly upgradeEndS: number | null
}
