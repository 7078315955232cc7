/** PostgreSQL can't store NUL in a text. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed()
}
