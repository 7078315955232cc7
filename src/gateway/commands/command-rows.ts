import type { AdvancedCommand, CallKey } from '../../devices/commands/store.ts'
import type { FinishedCommand } from '../../devices/commands/store-ended.ts'
import type { UpgradeEnd } from '../../firmware/store-lost-upgrades.ts'
import type { WakeName, WokenRow } from '../../platform/database/wakes.ts'
import type { Link, SendResult } from '../links/device-link.ts'
import type { UpgradeStep } from '../driver.ts'

export type { UpgradeEnd }

/** The data that the dispatcher needs about a command whose intent to send is committed. */
export interface RowOfCommand {
  readonly orgId: string
  readonly id: string
  /** The id of the device or of the edge appliance. */
  readonly deviceId: string
  /** The epoch of the session that must carry it. */
  readonly epoch: string
  /** The id of the call that must carry it; the answer contains it, whenever and wherever it arrives. */
  readonly callId: number
}

/** Commands that are committed as sent, and sent by the gateway once a wake delivers them. */
export interface CommittedCommands<C> {
  /** Its ids are those of the devices, and its rows the commands. Rows may be missing. */
  readonly wake: WakeName
  commandsOf(rows: readonly WokenRow[]): readonly C[]
  /** Adds what is needed to send the commands, and is not in their rows. */
  complete(commands: readonly C[]): Promise<readonly C[]>
  /** Lists those of such commands that are in flight on the present sessions of the devices. */
  list(deviceIds: readonly string[]): Promise<readonly C[]>
}

/** The rows of one sort of commands, and how links carry them. A failed write rejects and is repeated. */
export interface CommandRows<L extends Link, C extends RowOfCommand, S> {
  /** The wake that is sent when commands are queued. */
  readonly wake: WakeName
  /**
   * Marks queued commands as sent, at most one per device plus one diagnostic command; only those whose device is
   * connected to this node.
   * @param rebooting Ids of devices that get no command yet.
   * @param requeue Called for each marked command if they can't be prepared for sending, before the claim fails.
   */
  claim(limit: number, rebooting: readonly string[], requeue: (command: RowOfCommand) => void): Promise<C[]>
  /** Commands that are committed as sent from the start; absent if there are none. */
  readonly committed?: CommittedCommands<C>
  /**
   * Records outcomes, except those of commands that another transaction has locked, and returns the ids of the latter.
   * @param isRepeated True if one of them was locked before.
   */
  finish(finished: readonly FinishedCommand[], isRepeated: boolean): Promise<ReadonlySet<string>>
  /** Records the steps that commands have reached, as `finish` does; absent if they have none. */
  advance?(advanced: readonly AdvancedCommand[], isRepeated: boolean): Promise<ReadonlySet<string>>
  /** Returns commands to the queue that were claimed and certainly not sent, except locked ones, as `finish` does. */
  requeue(commands: readonly RowOfCommand[], isRepeated: boolean): Promise<ReadonlySet<string>>
  /** Lists the calls' commands whose outcome is open, or unknown because their connection was lost. */
  listUnanswered(calls: readonly CallKey[]): Promise<C[]>
  /** Finds the lost upgrade that ended then; absent where events name their commands. */
  findUpgrade?(end: UpgradeEnd): Promise<C | undefined>
  send(link: L, command: C): SendResult
  /** True for a command that others don't wait for, and that the device may carry out before or beside them. */
  isDiagnostic?(command: C): boolean
  /** True for a command after which the device reboots; absent if devices answer when they are back. */
  isReboot?(command: C): boolean
  /** Returns the data that a driver needs to interpret the device's messages about the command. */
  sentOf(command: C, lastStep: UpgradeStep | null): S
}
