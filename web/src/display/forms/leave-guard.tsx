import { Modal } from '@mantine/core'
import { type ShouldBlockFn, useBlocker } from '@tanstack/react-router'
import { type ReactNode, createContext, use, useCallback, useEffect, useRef, useState } from 'react'
import { Button } from './button.tsx'
import type { Unsaved } from './unsaved.ts'

export const UnsavedContext = createContext<Unsaved | null>(null)

export function useUnsaved(): Unsaved {
  const unsaved = use(UnsavedContext)
  if (unsaved === null) throw new Error('useUnsaved() is outside of <UnsavedContext>')
  return unsaved
}

/** Lets the page ask before it is left while a form has edits. */
export function useHold(isEdited: boolean): void {
  const unsaved = useUnsaved()
  useEffect(() => (isEdited ? unsaved.hold() : undefined), [unsaved, isEdited])
}

const MayLeave = createContext<() => Promise<boolean>>(async () => true)

/** Returns a function that asks the person, if there are edits, whether they may be dropped. */
export function useMayLeave(): () => Promise<boolean> {
  return use(MayLeave)
}

interface Question {
  readonly answer: (mayLeave: boolean) => void
  /** The place in the history of the browser. */
  readonly place: number
}

/** Asks before a page with edits is left: by a link, by the buttons of the browser, and by the browser itself when its tab closes. */
export function LeaveGuard({ children }: { readonly children: ReactNode }) {
  const unsaved = useUnsaved()
  const [isAsking, setAsking] = useState(false)
  const question = useRef<Question | null>(null)
  const mayLeave = useCallback(async (): Promise<boolean> => {
    if (!unsaved.isHeld()) return true
    const { promise, resolve: answer } = Promise.withResolvers<boolean>()
    // The buttons of the browser work while the dialog is open. They neither answer it nor open another one.
    if (question.current !== null) return promise
    question.current = { answer, place: placeInHistory() }
    setAsking(true)
    return promise
  }, [unsaved])
  const shouldBlockFn = useCallback<ShouldBlockFn>(
    // Filters and the like are in the address of the same page.
    async ({ current, next }) => current.pathname !== next.pathname && !(await mayLeave()),
    [mayLeave],
  )
  useBlocker({ shouldBlockFn, enableBeforeUnload: unsaved.isHeld })
  const close = async (leaves: boolean): Promise<void> => {
    const { current } = question
    setAsking(false)
    // The router goes back by as much as it has asked about.
    if (!leaves && current !== null) await returnTo(current.place)
    question.current = null
    current?.answer(leaves)
  }
  const stay = (): void => void close(false)
  return (
    <MayLeave value={mayLeave}>
      {children}
      <Modal opened={isAsking} onClose={stay} title="Leave without saving?" lockScroll={false} centered size="md">
        <div className="confirm">
          <div>What you have changed on this page is not saved.</div>
          <div className="confirm-buttons">
            <Button variant="default" size="sm" onClick={stay} data-autofocus>
              Stay on the page
            </Button>
            <Button size="sm" color="red" onClick={() => void close(true)}>
              Drop the changes
            </Button>
          </div>
        </div>
      </Modal>
    </MayLeave>
  )
}

/** The router numbers the entries of the history. One for a fragment that a person has typed into the address has no number. */
function placeInHistory(): number {
  return Number(Reflect.get(Object(globalThis.history.state), '__TSR_index'))
}

async function returnTo(place: number): Promise<void> {
  const steps = place - placeInHistory()
  // The browser would load the page again.
  if (Number.isNaN(steps) || steps === 0) return
  const { promise, resolve } = Promise.withResolvers<unknown>()
  globalThis.addEventListener('popstate', () => setTimeout(resolve), { once: true })
  globalThis.history.go(steps)
  await promise
}
