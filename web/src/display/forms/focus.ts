import { useEffect, useRef, useState } from 'react'

/**
 * Focuses the content of the page if the focused element has gone, such as the button of a row that was removed: Tab would
 * begin at the top of the page otherwise.
 */
export function focusContentIfLost(): void {
  focusIfLost(globalThis.document.querySelector('main'))
}

/** Returns the focus to where it was before a dialog that is not closed, but removed: Mantine returns it only in the other case. */
export function useFocusReturn(): void {
  const [before] = useState(() => globalThis.document.activeElement)
  useEffect(
    () => () => {
      // The dialog still has the focus.
      setTimeout(() => {
        if (before instanceof HTMLElement) focusIfLost(before)
        focusContentIfLost()
      })
    },
    [before],
  )
}

/** What keepFocusIn() has focused. It knows no better place. */
let refuge: Element | null = null

/** Focuses an element that has replaced the focused one. */
export function focusIfLost(element: HTMLElement | null): void {
  if (isFocusLost()) element?.focus()
}

function isFocusLost(): boolean {
  const { activeElement, body } = globalThis.document
  return activeElement === null || activeElement === body || activeElement === refuge
}

/**
 * Focuses what is around the focused element when that goes with its row, such as an alarm that has ended: first the panel. Tab
 * would begin at the top of the page otherwise.
 * @returns A function that ends it.
 */
export function keepFocusIn(content: HTMLElement): () => void {
  let focused: Element | null = null
  let around: readonly HTMLElement[] = []
  const note = ({ target }: FocusEvent): void => {
    focused = target instanceof Element ? target : null
    around = [...panelsAround(focused), content]
  }
  // A person who leaves the element for nothing else, by a click beside it, wants no focus.
  const leave = ({ target }: FocusEvent): void =>
    queueMicrotask(() => {
      if (focused === target && focused?.isConnected === true) focused = null
    })
  const observer = new MutationObserver(() => {
    if (focused === null || focused.isConnected) return
    focused = null
    const nearest = around.find((element) => element.isConnected)
    if (nearest === undefined || !isFocusLost()) return
    nearest.tabIndex = -1
    // The page stays where the person reads.
    nearest.focus({ preventScroll: true })
    refuge = nearest
  })
  observer.observe(content, { childList: true, subtree: true })
  content.addEventListener('focusin', note)
  content.addEventListener('focusout', leave)
  return () => {
    observer.disconnect()
    content.removeEventListener('focusin', note)
    content.removeEventListener('focusout', leave)
  }
}

/** Returns the panels that an element is in, from the innermost on. */
function panelsAround(element: Element | null): readonly HTMLElement[] {
  const panel = element?.parentElement?.closest<HTMLElement>('section') ?? null
  return panel === null ? [] : [panel, ...panelsAround(panel)]
}

/**
 * Focuses the field that shows a refusal, or the first choice of a list that shows it by `data-refused`.
 * @returns The ref of what contains the fields.
 */
export function useFocusOnRefusal<Container extends HTMLElement = HTMLFormElement>(error: Error | null) {
  const container = useRef<Container>(null)
  useEffect(() => {
    if (error !== null)
      container.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-refused] input')?.focus()
  }, [error])
  return container
}
