/** The content of a form by the names of its fields. */
export type Texts = Readonly<Record<string, string>>

/** What a person has typed, by the name of the field, and what it replaces. */
export type Edits = Readonly<Record<string, { readonly text: string; readonly over: string }>>

interface TypedText {
  readonly name: string
  readonly text: string
}

/** Returns the edits after a change of a field. One that has its former text again is no longer edited. */
export function withEdit(edits: Edits, stored: Texts, { name, text }: TypedText): Edits {
  const { [name]: former, ...others } = edits
  const over = former?.over ?? stored[name] ?? ''
  return text === over ? others : { ...others, [name]: { text, over } }
}

/** Returns the content of the form: fields that were not edited have what is stored by now. */
export function editedTexts(stored: Texts, edits: Edits): Texts {
  return { ...stored, ...mapEdits(edits, ({ text }) => text) }
}

/**
 * Returns the edits that were not sent, and those that have changed since: these replace what was saved. A field that was sent
 * and is no longer edited has its former text again.
 */
export function unsentOf(edits: Edits, sent: Edits, saved: Texts): Edits {
  const present = { ...mapEdits(sent, ({ over }) => ({ text: over, over })), ...edits }
  const unsent = Object.entries(present).filter(([name, { text }]) => sent[name]?.text !== text)
  return mapEdits(Object.fromEntries(unsent), ({ text, over }, name) => {
    return { text, over: sent[name] === undefined ? over : (saved[name] ?? '') }
  })
}

/**
 * Returns the edits together with the fields that the person has not edited, but relied on.
 * @param reliedOn The names of the fields on which the edit of a field relies.
 */
export function withReliedOn(edits: Edits, stored: Texts, reliedOn: (name: string) => readonly string[]): Edits {
  const names = Object.keys(edits).flatMap((name) => reliedOn(name))
  const seen = names.map((name) => [name, { text: stored[name] ?? '', over: stored[name] ?? '' }] as const)
  return { ...Object.fromEntries(seen), ...edits }
}

/** Returns the fields that somebody else has changed since they were edited, with what they are now. */
export function takenFields(edits: Edits, stored: Texts): readonly TypedText[] {
  return Object.entries(edits).flatMap(([name, { text, over }]) => {
    const now = stored[name] ?? ''
    return now === over || now === text ? [] : [{ name, text: now }]
  })
}

/** Returns the same edits, which replace what these fields are now. */
export function rebased(edits: Edits, taken: readonly TypedText[]): Edits {
  const known = new Map(taken.map(({ name, text }) => [name, text]))
  return mapEdits(edits, ({ text, over }, name) => ({ text, over: known.get(name) ?? over }))
}

const MAX_QUOTED = 80

/** How a form shows a field. The text of a switch that is on is not empty. */
export interface ShownField {
  readonly label: string
  readonly kind?: string
}

/** @param fieldOf The field of a name. */
export function takenText(taken: readonly TypedText[], fieldOf: (name: string) => ShownField): string {
  const fields = taken.map(({ name, text }) => {
    const { label, kind } = fieldOf(name)
    return `${label} is now ${kind === 'switch' ? (text === '' ? 'off' : 'on') : quoted(text)}`
  })
  return `Somebody else has changed this meanwhile: ${fields.join(', ')}. Save again to replace it.`
}

function quoted(text: string): string {
  if (text === '') return 'empty'
  return `"${text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text}"`
}

function mapEdits<To>(edits: Edits, to: (edit: Edits[string], name: string) => To): Readonly<Record<string, To>> {
  return Object.fromEntries(Object.entries(edits).map(([name, edit]) => [name, to(edit, name)]))
}
