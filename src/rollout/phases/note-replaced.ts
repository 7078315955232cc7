import type { ReplacedPlaces } from '../tables.ts'

/** The MACs of two devices, or the names of two edge appliances, that have changed places. */
export interface Replaced {
  readonly absent: string
  readonly online: string
}

/** The maximum number of pairs that a note names. */
const MAX_NAMED = 20

interface PlacesNote {
  readonly places?: ReplacedPlaces
  readonly reason: string
}

/**
 * Adds devices, or edge appliances, that have changed places to the notes of their upgrade. Each phase has one note, because those whose
 * connections are lost again and again may change places as often.
 * @param units What they are called, such as `devices`.
 */
export function noteReplaced<T extends PlacesNote>(
  notes: readonly T[],
  { phase, units }: { readonly phase: number; readonly units: string },
  replaced: readonly Replaced[],
): readonly (T | Required<PlacesNote>)[] {
  const before = notes.find(({ places }) => places?.phase === phase)
  const count = (before?.places?.count ?? 0) + replaced.length
  const pairs = replaced.map(({ absent, online }) => `${online} for ${absent}`)
  const named = [...(before?.places?.named ?? []), ...pairs].slice(0, MAX_NAMED)
  const more = count > MAX_NAMED ? ` and ${count - MAX_NAMED} more` : ''
  const reason = `connected ${units} have taken the places of absent ones in phase ${phase}: ${named.join(', ')}${more}`
  return [...notes.filter((note) => note !== before), { places: { phase, count, named }, reason }]
}
