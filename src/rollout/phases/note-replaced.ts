import { counted } from '../../platform/counted.ts'

/** Two devices that have changed their phases. */
export interface Replaced {
  /** The MAC of the device that is absent. */
  readonly absent: string
  readonly online: string
}

/** The maximum number of pairs that a note names. */
const MAX_NAMED = 20

/** Returns the note about devices that have changed their phases. */
export function noteReplaced(phase: number, replaced: readonly Replaced[]): string {
  const pairs = replaced.slice(0, MAX_NAMED).map(({ absent, online }) => `${online} for ${absent}`)
  const more = replaced.length > MAX_NAMED ? ` and ${replaced.length - MAX_NAMED} more` : ''
  const were = counted(replaced.length, 'device was', 'devices were')
  return `${were} not connected when phase ${phase} began, and changed places with others: ${pairs.join(', ')}${more}`
}
