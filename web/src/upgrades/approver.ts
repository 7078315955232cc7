import type { Self } from '../accounts/self.ts'
import { counted } from '../display/texts/counted.ts'
import type { Hold, Report } from './upgrade.ts'

/** The account of the person who looks at the upgrade. */
type Viewer = Pick<Self, 'admin_id'> & { readonly email?: string | undefined }

export interface Decider {
  readonly admin_id?: string | null
  readonly name?: string
}

/** True if an account of this person decided: all of them have the same address, which the names of deciders contain. */
function isOf({ admin_id: id, email }: Viewer, { admin_id: by, name = '' }: Decider): boolean {
  return typeof by === 'string' && (by === id || (email !== undefined && name.split(' ').includes(email)))
}

/** Returns the person who created an upgrade of devices; undefined: it is not known. */
export function creatorOf({ decisions }: Pick<Report, 'decisions'>): Decider | undefined {
  return decisions.find(({ type }) => type === 'UPGRADE_CREATED')
}

/** What decides whose approval counts. */
interface Awaited {
  readonly hold: Hold | null
  /** The gate at which the upgrade waits. */
  readonly gate: Pick<NonNullable<Report['start_gate']>, 'approved_by' | 'prevent_self_approval'> | undefined
  readonly creator: Decider | undefined
}

/**
 * Returns in a sentence why a person can't give the approval that an upgrade waits for, and who is needed; null if that person may
 * give it, or if it waits for no approval. The server decides by the same facts.
 */
export function barOf({ hold, gate, creator }: Awaited, viewer: Viewer | undefined): string | null {
  if (hold?.by !== 'approval' || viewer === undefined) return null
  const missing = hold.approvals_missing ?? 1
  const isGiven = gate?.approved_by?.some((approval) => isOf(viewer, approval)) ?? false
  if (isGiven)
    return `You have approved it. ${counted(missing, 'other person has', 'other people have')} yet to approve it.`
  if (gate?.prevent_self_approval !== true || creator === undefined || !isOf(viewer, creator)) return null
  return `You created this upgrade, so ${missing === 1 ? 'another person approves' : `${missing} other people approve`} it.`
}
