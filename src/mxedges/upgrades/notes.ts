import type { MxedgeUpgrade } from './store-records.ts'
import type { MxedgeUpgradeNote } from './upgrade.ts'

type Noted = Pick<MxedgeUpgrade, 'notes' | 'includeDueMs' | 'stopping'>

/** Returns the number of appliances of other upgrades that an upgrade awaits, also after its end. */
export function countAwaited({ notes, includeDueMs, stopping }: Noted): number {
  return includeDueMs === null || stopping !== null ? 0 : notes.filter(isOfOther).length
}

/** True until an upgrade has ended and awaits no appliance. */
export function isOpenToOthers(upgrade: Noted & Pick<MxedgeUpgrade, 'finishedAt'>): boolean {
  return upgrade.finishedAt === null || countAwaited(upgrade) > 0
}

/** What a look has read. */
interface LookedAt {
  readonly after: string | null
  readonly last: string | null
  /** Appliances of it that an upgrade has. */
  readonly busy: ReadonlySet<string>
}

/**
 * Returns the notes of an upgrade without those of appliances that it no longer awaits after a look: no upgrade has them any
 * more, so that the look has decided about them, or the upgrade does not cover them any more.
 */
export function dropLookedAt(
  notes: readonly MxedgeUpgradeNote[],
  { after, last, busy }: LookedAt,
): readonly MxedgeUpgradeNote[] {
  return notes.filter((note) => {
    const { mxedge_id: id = '' } = note
    const isRead = (after === null || id > after) && (last === null || id <= last)
    return !isOfOther(note) || !isRead || busy.has(id)
  })
}

/** The kinds are not published. */
export function withoutKinds(notes: readonly MxedgeUpgradeNote[]): Omit<MxedgeUpgradeNote, 'kind'>[] {
  return notes.map(({ kind: _, ...note }) => note)
}

function isOfOther({ kind }: MxedgeUpgradeNote): boolean {
  return kind === 'in_another_upgrade'
}
