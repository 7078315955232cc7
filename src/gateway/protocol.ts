import type { AwaitedRestart } from '../devices/commands/store-awaited.ts'
import type { LostCall } from '../devices/commands/store-lost.ts'
import type { DeviceTrouble } from '../devices/events/record-trouble.ts'
import type { DeviceFacts } from '../devices/device.ts'
import type { SessionReport } from '../devices/stats/record-report.ts'
import type { Context } from '../platform/context.ts'
import type { MxedgeCommandToSend } from '../mxedges/commands/store.ts'
import type { ReportedMxedge } from '../mxedges/sessions/facts.ts'
import type { ApplianceHello, ApplianceLink } from './links/appliance-link.ts'
import type { GatewayCounters } from './counters.ts'
import type { Decode, DeviceLink, Link, LinkEvent, LinkProgress } from './links/device-link.ts'
import type { SentCommand } from './driver.ts'
import type { FailureLevel } from './failure-level.ts'
import type { Refusals } from './admission/refusals.ts'

/** A protocol by which devices connect. */
export interface Protocol {
  /** The name of the protocol, as in DeviceLink. */
  readonly family: string
  /** Starts to accept devices. The links that they open use the host. */
  listen(host: LinkHost): Promise<Listener>
}

export interface Listener {
  readonly port: number
  /** Ends the links whose devices are dead, or have not connected in time. Called at regular intervals, and not before the last
   * call has ended. */
  look(): Promise<void> | void
  /** Accepts no more devices and closes all links, so that they reconnect soon; resolves when all sockets are closed. */
  close(): Promise<void>
}

/** `refused`: the device may not connect. `replaced`: a newer link of the device exists, and this one is being closed. */
export type ConnectResult = 'connected' | 'refused' | 'replaced'

/** The services of the gateway for links of one sort. */
export interface LinkSide<L extends Link, F, S> {
  /** Records the connection, with others that arrive at the same time, and makes the link that of its device. */
  connect(link: L, facts: F): Promise<ConnectResult>
  /**
   * Ends the command whose call has this id, with the result of `decode`. Resolves with false if no command waits for a
   * reply to that call. Never rejects.
   */
  onReply(link: L, callId: number, decode: Decode<S>): Promise<boolean>
  /** Resolves when the replies and the progress of the device are written. */
  whenWritten(link: L): Promise<void>
  /**
   * Renews the time limit of the command in flight and records its step. Resolves when the step is written, with false
   * if writing failed or the command has ended: then nothing more may be done for it. Never rejects.
   */
  onProgress(link: L, callId: number, step: LinkProgress): Promise<boolean>
  /** Applies an event to the command in flight on the link, or to an upgrade whose connection was lost. Never rejects. */
  onEvent(link: L, event: LinkEvent<S>): Promise<void>
  /** Must be called once for each link, after everything that the device has sent is handled. */
  onClosed(link: L): void
}

/** The services of the gateway for the links of devices. */
export interface LinkHost extends LinkSide<DeviceLink, DeviceFacts, SentCommand> {
  readonly ctx: Context
  readonly counters: GatewayCounters
  readonly refusals: Refusals
  /** The milliseconds for which the gateway has run; see createRunningClock(). Devices are late by this clock. */
  readonly now: () => number
  /** Monotonic milliseconds, also of a time in which the gateway did not run. The gateway is late by this clock. */
  readonly monotonicMs: () => number
  readonly failureLevel: FailureLevel
  /** Records a device's report. If it returns a promise, the link must handle nothing else before it resolves. */
  report(report: SessionReport): Promise<void> | undefined
  /** Lists the restarts of parts of the device that earlier links may have left unfinished. Never rejects. */
  listAwaitedRestarts(deviceId: string): Promise<readonly AwaitedRestart[]>
  /** Lists the steps of upgrades, sent on earlier links, that the device may still be executing. Never rejects. */
  listLostCalls(deviceId: string): Promise<readonly LostCall[]>
  /**
   * Records that the device of the link, whose connection is recorded, executes none of the commands of earlier links
   * but these.
   */
  onIdle(link: DeviceLink, executing?: readonly string[]): void
  /** Reports a problem that the gateway observes with the link's device to its organization. */
  onTrouble(link: DeviceLink, type: DeviceTrouble['type']): void
  readonly appliances: ApplianceSide
}

/** The services of the gateway for the links of edge appliances. */
export interface ApplianceSide extends LinkSide<ApplianceLink, ApplianceHello, MxedgeCommandToSend> {
  /** Records a report. Never rejects. */
  report(link: ApplianceLink, reported: ReportedMxedge): Promise<void>
}
