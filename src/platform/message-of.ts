/** What a thrown value says, for a sentence that a person reads. Libraries may throw values that are no errors. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
