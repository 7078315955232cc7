import type { ReactNode } from 'react'
import type { Effect } from '../display/forms/effect.ts'
import { ConfirmButton } from '../display/forms/confirm-button.tsx'
import type { Action } from './verdict.ts'

/** The button of an action, which states its effect. */
export type Offer = {
  readonly title: string
  readonly fields?: ReactNode
  readonly onOpen?: () => void
  readonly run: () => Promise<unknown>
} & (
  | { readonly effect: string; readonly isDestructive?: false }
  | { readonly effect: Effect; readonly isDestructive: true }
)

interface ActionButtonsProps {
  readonly actions: readonly Action[]
  readonly offers: Readonly<Partial<Record<Action, Offer>>>
  readonly onDone: () => Promise<void>
}

/** The buttons of the actions that are possible now. */
export function ActionButtons({ actions, offers, onDone }: ActionButtonsProps) {
  return actions.map((action) => {
    const offer = offers[action]
    if (offer === undefined) return null
    const { title, run, ...rest } = offer
    return (
      <ConfirmButton
        key={action}
        action={title}
        {...rest}
        run={async () => {
          await run()
          await onDone()
        }}
      />
    )
  })
}
