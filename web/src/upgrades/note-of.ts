/** Returns the field of a request with a person's note; a note without a word is none, and the server refuses it. */
export function noteOf(note: string): { readonly note?: string } {
  const text = note.trim()
  return text === '' ? {} : { note: text }
}
