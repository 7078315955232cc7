import type { DriverCommand, DriverDevice, Outcome, Rejection, SentCommand } from './driver.ts'

/** The epoch of a link before its connection is recorded; it is lower than any in the database. */
export const NO_EPOCH = '0'

/**
 * Why the gateway closes a link. `replaced`: the device has a newer one. `restart`: the service stops. `try_again`: the
 * gateway lost its lease, so the device must connect again.
 */
export type CloseReason = 'replaced' | 'restart' | 'try_again'

/** One connection of a device that has proved its identity, whatever protocol it speaks. */
export interface DeviceLink {
  /** The name of the protocol; `device_session.family` records it. */
  readonly family: string
  /** Twelve lower-case hex digits. */
  readonly mac: string
  readonly deviceId: string
  /** NO_EPOCH until LinkHost.connect sets it. */
  epoch: string
  /** True once LinkHost.onClosed has been or is being called. */
  readonly isClosed: boolean
  send(command: LinkCommand): SendResult
  close(reason: CloseReason): void
}

export interface LinkCommand {
  /** Names the call for good: it is unique over links and restarts. */
  readonly callId: number
  readonly device: DriverDevice
  readonly order: DriverCommand
}

export type SendResult =
  /** The device has `timeoutMs` for the reply or event that ends the command. */
  | { readonly kind: 'sent'; readonly timeoutMs: number }
  /** The command was certainly not sent, and may be sent later. */
  | { readonly kind: 'unsent' }
  | Rejection

/** Decodes what a reply or an event means for a command that was sent; null: nothing. */
export type Decode = (sent: SentCommand) => Outcome | null

/** An event that a device sent; it may concern a command. */
export interface LinkEvent {
  readonly decode: Decode
  /**
   * When an upgrade of the device ended, if the event says so without naming the upgrade: in epoch seconds by the
   * device's own clock.
   */
  readonly upgradeEndS: number | null
}
