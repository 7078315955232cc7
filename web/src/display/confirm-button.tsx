import { Button, Modal } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ProblemNote } from './notices.tsx'

interface ConfirmButtonProps {
  /** The action as a verb, on the button and on the one that confirms. */
  readonly action: string
  /** The effect, with numbers. */
  readonly effect: ReactNode
  /** Further choices, above the buttons. */
  readonly fields?: ReactNode
  readonly isDestructive?: boolean
  readonly run: () => Promise<unknown>
}

/** A button that states its effect before the action. A refusal appears next to it. */
export function ConfirmButton({ action, effect, fields, isDestructive = false, run }: ConfirmButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const mutation = useMutation({ mutationFn: run, onSuccess: () => setOpen(false) })
  const open = (): void => {
    mutation.reset()
    setOpen(true)
  }
  return (
    <>
      <Button variant="default" size="xs" onClick={open} {...(isDestructive && { className: 'destructive' })}>
        {action}…
      </Button>
      <Modal opened={isOpen} onClose={() => setOpen(false)} title={action} lockScroll={false} centered size="md">
        <div className="confirm">
          <div>{effect}</div>
          {fields}
          <ProblemNote problem={mutation.error} />
          <div className="confirm-buttons">
            <Button variant="default" size="sm" onClick={() => setOpen(false)} data-autofocus>
              Keep as it is
            </Button>
            <Button
              size="sm"
              loading={mutation.isPending}
              {...(isDestructive && { color: 'red' })}
              onClick={() => mutation.mutate()}
            >
              {action}
            </Button>
          </div>
        </div>
      </Modal>
    </>
  )
}
