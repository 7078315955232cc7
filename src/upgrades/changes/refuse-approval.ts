import type { InOrg } from '../../access/scope.ts'
import { listAccountsOf } from '../../access/store-people.ts'
import { counted } from '../../platform/counted.ts'
import type { Tx } from '../../platform/database/db.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import { phaseText } from '../../rollout/gates/decide-hold.ts'
import type { PhaseApproval, PhaseOf, StartGate, UpgradeHold } from '../../rollout/rollout.ts'

/** What an upgrade of any kind waits for. */
export interface Awaited {
  readonly hold: UpgradeHold | null
  /** The phase whose gate the pause is at; null: there is none. */
  readonly heldPhase: PhaseOf | null
}

/**
 * Returns the phase that waits for an approval.
 * @param named The phase that a person approves.
 * @throws AppError invalid if it is none or another one, and while a person has paused the upgrade.
 */
export function findAwaitedPhase({ hold, heldPhase }: Awaited, { phase, of }: PhaseOf): PhaseOf {
  if (hold?.by === 'user')
    throw new AppError('invalid', `The phase can't be approved: the upgrade is ${hold.reason}, so resume it first`)
  if (hold?.by !== 'approval' || heldPhase === null)
    throw invalidField('phase', `is ${phase}, but no phase of the upgrade waits for an approval`)
  const awaited = `${phaseText(heldPhase)} waits for an approval`
  if (heldPhase.of !== of) throw invalidField('phase_of', `is ${of ?? 'reboots'}, but ${awaited}`)
  if (heldPhase.phase !== phase) throw invalidField('phase', `is ${phase}, but ${awaited}`)
  return heldPhase
}

/** @throws AppError invalid for an upgrade that waits for an approval: to resume it is none. */
export function refuseUnapproved(hold: UpgradeHold | null): void {
  if (hold?.by === 'approval')
    throw new AppError('invalid', `The upgrade can't be resumed: ${hold.reason}, which the operation approve gives`)
}

interface Given {
  readonly waiting: PhaseOf
  readonly gate: StartGate | null
  readonly approvals: readonly PhaseApproval[]
  /** The person who created the upgrade; null: a program did. */
  readonly creatorId: string | null
}

/** @throws AppError invalid for a person whose approval does not count. */
export async function refuseApprover(
  tx: Tx,
  scope: InOrg,
  { waiting, gate, approvals, creatorId }: Given,
): Promise<void> {
  if (gate?.prevent_self_approval === true) {
    const who = await findBarred(tx, scope, creatorId === null ? [] : [creatorId], 'the person who created the upgrade')
    if (who !== null)
      throw new AppError('invalid', `The phase can't be approved by ${who}: its gate has prevent_self_approval`)
  }
  if (gate?.approvals === undefined) return
  const given = approvals.flatMap(({ phase, of, by, admin_id: approver }) =>
    phase === waiting.phase && of === waiting.of && by === 'approval' && approver !== null ? [approver] : [],
  )
  const who = await findBarred(tx, scope, given, 'the same person again')
  if (who !== null)
    throw new AppError(
      'invalid',
      `The phase can't be approved by ${who}: its gate needs approvals by ${gate.approvals} different people`,
    )
}

/** Returns in words why the caller is none of the people that the gate needs; null: the caller may be one. */
async function findBarred(tx: Tx, scope: InOrg, accounts: readonly string[], words: string): Promise<string | null> {
  const { adminId } = scope.actor
  if (adminId === null) return 'a token that belongs to no person'
  return (await listAccountsOf(tx, adminId, accounts)).length > 0 ? words : null
}

/** Returns the end of the audit record of an approval. @param missing How many further people must approve. */
export function missingText(missing: number | undefined): string {
  return missing === undefined ? '' : `, which waits for ${counted(missing, 'further approval')}`
}
