/** A page shows at most this many claimed devices. */
const MAX_SHOWN = 50

export interface ClaimSearch {
  /** The devices that are awaited, by their MAC addresses; several are separated by commas. */
  readonly macs?: string
}

/** Keeps the known parameters; an address that was typed by hand may contain anything. */
export function parseClaimSearch({ macs }: Readonly<Record<string, unknown>>): ClaimSearch {
  // The router reads a text of digits as a number.
  const kept = macsIn(typeof macs === 'string' || typeof macs === 'number' ? String(macs) : '')
  return kept.length === 0 ? {} : { macs: kept.join(',') }
}

export function macsIn(macs: string | undefined): readonly string[] {
  return (macs ?? '')
    .split(',')
    .filter((mac) => /^[\da-f]{12}$/.test(mac))
    .slice(0, MAX_SHOWN)
}

/** Returns the text of the codes that are still to be claimed: those that were refused, and what was typed since the others were sent. */
export function textAfterClaim(text: string, sent: readonly string[], refused: readonly string[]): string {
  const known = new Set(sent)
  return [...refused, ...codesIn(text).filter((code) => !known.has(code))].join('\n')
}

/** Returns claim codes as people paste them: in lines, or separated by commas or spaces. */
export function codesIn(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((code) => code !== ''))]
}
