/** Whether the page has forms with edits that are not saved. */
export interface Unsaved {
  /** Notes a form with edits. @returns A function that notes that it has none any more. */
  readonly hold: () => () => void
  readonly isHeld: () => boolean
  /** Lets the edits go, because the person has agreed to that or nothing of the page may stay. */
  readonly release: () => void
}

export function createUnsaved(): Unsaved {
  const forms = new Set<symbol>()
  return {
    hold() {
      const form = Symbol('form')
      forms.add(form)
      return () => forms.delete(form)
    },
    isHeld: () => forms.size > 0,
    release: () => forms.clear(),
  }
}
