import { counted } from '../texts/counted.ts'

/** A number of things, such as 42 access points. */
export interface Count {
  readonly count: number
  readonly one: string
  /** Absent: `one` with an s. */
  readonly many?: string
}

/** What an action does, with numbers: "Restarts 42 access points at 3 sites. Disconnects 310 clients." */
export interface Effect {
  /** The verb, such as "Restarts". */
  readonly does: string
  readonly counts: readonly [Count, ...Count[]]
  /** The name of the only thing, or of what contains the things. */
  readonly name?: string | undefined
  readonly sites?: number
  /** Further sentences; null for those that do not apply. */
  readonly consequences?: readonly (string | null)[]
  readonly isFinal?: boolean
}

/** Returns the effect in sentences. Counts of zero after the first are left out. */
export function effectText({ does, counts, name, sites, consequences = [], isFinal = false }: Effect): string {
  const [first, ...others] = counts
  const parts = [first, ...others.filter(({ count }) => count > 0)].map(({ count, one, many }) =>
    counted(count, one, many),
  )
  const what = `${does} ${listed(parts)}${name === undefined ? '' : ` (${name})`}`
  const sentences = [
    `${what}${sites === undefined ? '' : ` at ${counted(sites, 'site')}`}.`,
    ...consequences.filter((sentence) => sentence !== null),
    ...(isFinal ? ['This cannot be undone.'] : []),
  ]
  return sentences.join(' ')
}

function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}
