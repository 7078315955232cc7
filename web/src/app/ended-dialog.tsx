import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import type { SignInForms as Forms } from '../accounts/sign-in/sign-in-forms.tsx'
import type { Self } from '../accounts/self.ts'
import { useServer } from '../api/client.ts'
import { useUnsaved } from '../display/forms/leave-guard.tsx'

interface EndedDialogProps {
  readonly isOpen: boolean
  readonly self: Self | undefined
}

/**
 * Covers the page, with what a person has typed, until that person has signed in again: here or in another tab. It is a dialog of
 * the browser, which covers the other dialogs and disables all that is below.
 */
export function EndedDialog({ isOpen, self }: EndedDialogProps) {
  const [Form, setForm] = useState<typeof Forms>()
  useEffect(() => {
    // Its script is loaded before it is needed: an update of the server may have removed it by then.
    void import('../accounts/sign-in/sign-in-forms.tsx').then(
      ({ SignInForms }) => setForm(() => SignInForms),
      () => {},
    )
  }, [])
  const { session } = useServer()
  if (!isOpen) return null
  const email = self?.email ?? ''
  return <Cover>{Form !== undefined && self?.via_sso !== true && <Form email={email} onDone={session.check} />}</Cover>
}

function Cover({ children }: { readonly children: ReactNode }) {
  const ids = { title: useId(), text: useId() }
  const dialog = useRef<HTMLDialogElement>(null)
  const unsaved = useUnsaved()
  useLayoutEffect(() => {
    const { current } = dialog
    const { title } = document
    document.title = 'Signed out · Signalbox'
    show(current)
    return () => {
      document.title = title
      // It returns the focus.
      current?.close()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      className="ended"
      aria-labelledby={ids.title}
      aria-describedby={ids.text}
      // The browser itself closes no such dialog, for example by the back gesture of a phone. Older browsers do.
      closedby="none"
      onClose={() => show(dialog.current)}
    >
      <div className="sign-in">
        <p className="brand">Signalbox</p>
        <h1 id={ids.title}>Your session has ended</h1>
        <p id={ids.text} className="hint">
          Sign in again to go on where you were: what you have typed is still there.
        </p>
        {children}
        <p className="hint">
          <a href="/sign-in" target="_blank" rel="noreferrer">
            Sign in in a new tab
          </a>
          , for example with single sign-on: then this page goes on by itself.
        </p>
        <p className="hint">
          <a href="/sign-in" onClick={unsaved.release}>
            Leave this page
          </a>{' '}
          and lose what you have typed, to sign in as somebody else.
        </p>
      </div>
    </dialog>
  )
}

function show(dialog: HTMLDialogElement | null): void {
  dialog?.showModal()
  dialog?.querySelector<HTMLElement>('input:not([readonly])')?.focus()
}
