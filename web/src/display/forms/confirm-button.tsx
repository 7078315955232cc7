import { Modal } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, createContext, use, useEffect, useRef, useState } from 'react'
import { Button, QuietButton } from './button.tsx'
import { fieldIn } from '../../api/problem.ts'
import { type Effect, effectText } from './effect.ts'
import { focusContentIfLost, useFocusOnRefusal } from './focus.ts'
import { ProblemNote } from '../layout/notices.tsx'
import { useRowLabel } from '../layout/row.tsx'

interface ConfirmButtonParts {
  /** The action as a verb, on the button and on the one that confirms. */
  readonly action: string
  /** Further choices, above the buttons. */
  readonly fields?: ReactNode
  /** Those of the request that show their refusals by <FieldRefusal>. */
  readonly fieldNames?: readonly string[]
  /** The action that the page is for. */
  readonly isPrimary?: boolean
  /** Looks like the other actions of a row. */
  readonly isQuiet?: boolean
  /** False: the dialog stays closed, because a field of the page has to be completed first. Default: it opens. */
  readonly mayOpen?: () => boolean
  /** Resets the further choices. */
  readonly onOpen?: () => void
  readonly run: () => Promise<unknown>
}

/** Actions that take something away state how much. */
type ConfirmButtonProps = ConfirmButtonParts &
  (
    | { readonly isDestructive: true; readonly effect: Effect }
    | { readonly isDestructive?: false; readonly effect: Effect | string }
  )

const Refusal = createContext<string | null>(null)

interface FieldRefusalProps {
  /** The name of the field in the request. */
  readonly name: string
  readonly children: (error: string | null) => ReactNode
}

/** Gives a field of a ConfirmButton the refusal that names it. */
export function FieldRefusal({ name, children }: FieldRefusalProps) {
  const message = use(Refusal)
  return children(message !== null && fieldIn(message) === name ? message : null)
}

/** A button that states its effect before the action. A refusal appears next to it. */
export function ConfirmButton({
  action,
  effect,
  fields,
  fieldNames,
  isDestructive = false,
  isPrimary = false,
  isQuiet = false,
  mayOpen,
  onOpen,
  run,
}: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const isUsed = useRef(false)
  const mutation = useMutation({ mutationFn: () => run(), onSuccess: () => setOpen(false) })
  useEffect(
    () => () => {
      // The action, or somebody else, has removed the button, to which the dialog would return the focus.
      if (isUsed.current) setTimeout(focusContentIfLost)
    },
    [],
  )
  const message = mutation.error?.message ?? null
  const refused = message === null ? null : fieldIn(message)
  const label = useRowLabel()
  const form = useFocusOnRefusal(mutation.error)
  const isAtField = refused !== null && fieldNames?.includes(refused) === true
  const open = (): void => {
    if (mayOpen?.() === false) return
    mutation.reset()
    onOpen?.()
    isUsed.current = true
    setOpen(true)
  }
  const leave = (): void => {
    isUsed.current = false
    setOpen(false)
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    // The button may be in a form of the page, to which React would pass it on.
    event.stopPropagation()
    mutation.mutate()
  }
  return (
    <>
      {isQuiet ? (
        <QuietButton {...label} onClick={open}>
          {action}…
        </QuietButton>
      ) : (
        <Button
          {...(!isPrimary && { variant: 'default' })}
          size="xs"
          {...label}
          onClick={open}
          {...(isDestructive && { className: 'destructive' })}
        >
          {action}…
        </Button>
      )}
      <Modal opened={isOpen} onClose={leave} title={action} lockScroll={false} centered size="md">
        <form ref={form} className="confirm" onSubmit={submit}>
          <div>{typeof effect === 'string' ? effect : effectText(effect)}</div>
          <Refusal value={message}>{fields}</Refusal>
          <ProblemNote problem={isAtField ? null : mutation.error} />
          <div className="confirm-buttons">
            <Button variant="default" size="sm" onClick={leave} data-autofocus>
              Keep as it is
            </Button>
            <Button type="submit" size="sm" isBusy={mutation.isPending} {...(isDestructive && { color: 'red' })}>
              {action}
            </Button>
          </div>
        </form>
      </Modal>
    </>
  )
}
