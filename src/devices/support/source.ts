import type { InOrg } from '../../access/scope.ts'
import type { Reader, Tx } from '../../platform/database/db.ts'
import type { CommandState } from '../tables.ts'

/** The command for which a machine uploads a file. */
export interface SupportCommand {
  readonly state: CommandState
  /** The machine's own name in its upload. */
  readonly machine: string
  /** A description of `machine`, for the message about a mismatch. */
  readonly machineIs: string
  /** The machine, for the audit log. */
  readonly title: string
  readonly deviceId: string | null
  /** The site for which the command was sent, where the machine may no longer be. */
  readonly siteId: string | null
  /** Name of the file on disk; null before the upload. */
  readonly file: string | null
  readonly bytes: number | null
  /**
   * True for agents that repeat an interrupted command: another upload for it is accepted, and discarded. Otherwise the
   * address works once.
   */
  readonly mayRepeat: boolean
}

/** Machines of one kind that upload support files for their commands. */
export interface SupportSource {
  /** True if the commands are those of edge appliances, which have their own table. */
  readonly ofMxedge: boolean
  findCommand(reader: Reader, scope: InOrg, commandId: string): Promise<SupportCommand | undefined>
  /** Prevents the deletion of the command. @returns False if it does not exist. */
  shareCommand(tx: Tx, scope: InOrg, commandId: string): Promise<boolean>
}
