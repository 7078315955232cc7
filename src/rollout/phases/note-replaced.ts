import type { UpgradeNote } from '../rollout.ts'

/** Two devices that have changed their phases. */
export interface Replaced {
  /** The MAC of the device that is absent. */
  readonly absent: string
  readonly online: string
}

/** The maximum number of pairs that a note names. */
const MAX_NAMED = 20

/**
 * Adds devices that have changed their phases to the notes of a site upgrade. Each phase has one note, because devices whose connections
 * are lost again and again may change their phases as often.
 */
export function noteReplaced(
  notes: readonly UpgradeNote[],
  phase: number,
  replaced: readonly Replaced[],
): readonly UpgradeNote[] {
  const before = notes.find(({ places }) => places?.phase === phase)
  const count = (before?.places?.count ?? 0) + replaced.length
  const pairs = replaced.map(({ absent, online }) => `${online} for ${absent}`)
  const named = [...(before?.places?.named ?? []), ...pairs].slice(0, MAX_NAMED)
  const more = count > MAX_NAMED ? ` and ${count - MAX_NAMED} more` : ''
  const reason = `connected devices have taken the places of absent ones in phase ${phase}: ${named.join(', ')}${more}`
  return [...notes.filter((note) => note !== before), { places: { phase, count, named }, reason }]
}
