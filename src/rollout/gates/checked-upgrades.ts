import type { OrgScope } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import type { UpgradeHold } from '../rollout.ts'
import type { CheckedRows, DueCheck } from './store-checks.ts'

/** A gate that opens without a person. */
export interface OpenedGate {
  readonly check: DueCheck
  /** The text of the answer. */
  readonly note: string | null
  readonly now: Date
  readonly nowMs: number
}

/** What the gates of one kind of upgrades need to call checks. In all functions the caller has locked the upgrade. */
export interface CheckedUpgrades {
  readonly rows: CheckedRows
  /** What is upgraded, for texts. */
  readonly units: string
  /** Replaces why the upgrade waits. */
  replaceHold(tx: Tx, scope: OrgScope, check: DueCheck, hold: UpgradeHold): Promise<void>
  /** Appends the event that the upgrade waits for a person from now on. */
  appendHeld(
    tx: Tx,
    scope: OrgScope,
    check: DueCheck,
    held: { readonly hold: UpgradeHold; readonly now: Date },
  ): Promise<void>
  /** Opens the next phase, with its event. */
  open(tx: Tx, scope: OrgScope, opened: OpenedGate): Promise<void>
  /** Ends a wait for a time, with its event. Absent: something else ends these waits. */
  readonly endWait?: (tx: Tx, scope: OrgScope, opened: OpenedGate) => Promise<void>
}
