import { Button, Modal } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { ProblemNote } from './notices.tsx'

interface ConfirmButtonProps {
  /** What it does, as a verb: the button, and the one that confirms. */
  readonly action: string
  /** What will happen, with numbers. */
  readonly effect: ReactNode
  /** More to choose, above the buttons. */
  readonly fields?: ReactNode
  readonly isDestructive?: boolean
  readonly run: () => Promise<unknown>
}

/** A button that says what it would do before it does it. A refusal appears where it was asked for. */
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
