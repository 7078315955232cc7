/** A part of a text: words, or the id of an upgrade that it names. */
export type TextPart = string | { readonly upgradeId: string }

const named = /\bupgrade ([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\b/g

/** Splits a text of the server, such as "it is in upgrade 7b0f…", at the upgrades that it names. */
export function partsOf(text: string): readonly TextPart[] {
  const parts: TextPart[] = []
  let end = 0
  for (const { 0: whole, 1: upgradeId = '', index } of text.matchAll(named)) {
    parts.push(text.slice(end, index), { upgradeId })
    end = index + whole.length
  }
  return [...parts, text.slice(end)].filter((part) => part !== '')
}

/** Returns what tells an upgrade apart from others of the same text. */
export function shortName(upgradeId: string): string {
  return `upgrade …${upgradeId.slice(-6)}`
}
