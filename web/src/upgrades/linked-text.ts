interface NamedUpgrade {
  readonly upgradeId: string
  /** Absent: the text has only its id. */
  readonly name?: string
}

/** A part of a text: words, or an upgrade that it names. */
export type TextPart = string | NamedUpgrade

const id = String.raw`[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}`
const named = new RegExp(String.raw`\bupgrade (?:"(.{1,100}?)" \((${id})\)|(${id})\b)`, 'g')

/** Splits a text of the server, such as "it is in upgrade 7b0f…" or "Pause upgrade "Friday" (7b0f…)", at the upgrades that it names. */
export function partsOf(text: string): readonly TextPart[] {
  const parts: TextPart[] = []
  let end = 0
  for (const { 0: whole, 1: name, 2: besideName, 3: alone = '', index } of text.matchAll(named)) {
    parts.push(text.slice(end, index), { upgradeId: besideName ?? alone, ...(name !== undefined && { name }) })
    end = index + whole.length
  }
  return [...parts, text.slice(end)].filter((part) => part !== '')
}

/** Returns what tells an upgrade apart from others of the same text. */
export function shortName({ upgradeId, name }: NamedUpgrade): string {
  return name === undefined ? `upgrade …${upgradeId.slice(-6)}` : `upgrade "${name}"`
}

/** Returns a text of the server with the short names of its upgrades, for where no link may be. */
export function plainText(text: string): string {
  return partsOf(text)
    .map((part) => (typeof part === 'string' ? part : shortName(part)))
    .join('')
}
