import { useEffect, useRef } from 'react'

/**
 * Focuses the content of the page if the focused element has gone, such as the button of a row that was removed: Tab would
 * begin at the top of the page otherwise.
 */
export function focusContentIfLost(): void {
  focusIfLost(globalThis.document.querySelector('main'))
}

/** Focuses an element that has replaced the focused one. */
export function focusIfLost(element: HTMLElement | null): void {
  const { activeElement, body } = globalThis.document
  if (activeElement === null || activeElement === body) element?.focus()
}

/** Focuses the field that shows a refusal. @returns The ref of its form. */
export function useFocusOnRefusal(error: Error | null) {
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [error])
  return form
}
