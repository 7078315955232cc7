import type { InOrg } from '../../access/scope.ts'
import type { Reader, Tx } from '../../platform/db.ts'
import type { CommandState } from '../tables.ts'

/** The command for which a machine uploads a file. */
export interface SupportCommand {
  readonly state: CommandState
  /** By what the machine names itself in its upload. */
  readonly machine: string
  /** What `machine` is, for the message where another one is sent. */
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
  /** Where the commands are: those to edge appliances have a table of their own. */
  readonly ofMxedge: boolean
  findCommand(reader: Reader, scope: InOrg, commandId: string): Promise<SupportCommand | undefined>
  /** Locks the command against its deletion. @returns False where it is gone. */
  shareCommand(tx: Tx, scope: InOrg, commandId: string): Promise<boolean>
}
