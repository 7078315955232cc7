import type { MxedgeUpgrade } from './store-records.ts'
import type { MxedgeUpgradeNote } from './upgrade.ts'

/** True until an upgrade that searches has ended and awaits no appliance of another upgrade. */
export function isOpenToOthers({ finishedAt, notes }: Pick<MxedgeUpgrade, 'finishedAt' | 'notes'>): boolean {
  return finishedAt === null || notes.some(isOfOther)
}

/** The appliances that a search has read. */
interface LookedAt {
  readonly after: string | null
  readonly last: string | null
  /** Appliances of it that an upgrade has. */
  readonly busy: ReadonlySet<string>
}

/**
 * Returns the notes of an upgrade without those of appliances that it no longer awaits after a search: no upgrade has them any
 * more, so the search has decided about them, or the upgrade does not cover them any more.
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

/** Returns the notes without what only the service reads in them. */
export function publishedNotes(notes: readonly MxedgeUpgradeNote[]): Omit<MxedgeUpgradeNote, 'kind' | 'places'>[] {
  return notes.map(({ kind: _kind, places: _places, ...note }) => note)
}

function isOfOther({ kind }: MxedgeUpgradeNote): boolean {
  return kind === 'in_another_upgrade'
}
