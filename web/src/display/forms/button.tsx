import { Button as MantineButton, type ButtonProps as MantineButtonProps } from '@mantine/core'
import type { ComponentProps, MouseEvent } from 'react'

interface Standstill {
  /** Its action runs. */
  readonly isBusy?: boolean
  /** Its action is not possible now. */
  readonly isOff?: boolean
  readonly onClick?: ((event: MouseEvent<HTMLButtonElement>) => void) | undefined
}

/**
 * Returns the attributes of a button that keeps the focus while a click has no effect. The attribute `disabled` would take the
 * focus away, and Tab would then begin at the top of the page.
 */
function standstillProps({ isBusy = false, isOff = false, onClick }: Standstill) {
  const isInert = isBusy || isOff
  return {
    'aria-disabled': isInert || undefined,
    'aria-busy': isBusy || undefined,
    // Enter in a field of a form also clicks its button.
    onClick: (event: MouseEvent<HTMLButtonElement>): void => (isInert ? event.preventDefault() : onClick?.(event)),
  }
}

type Native = Omit<ComponentProps<'button'>, 'disabled' | keyof Standstill>

type Styled = Omit<MantineButtonProps, 'disabled' | 'loading' | 'loaderProps' | 'data-disabled' | 'mod'>

type ButtonProps = Styled & Omit<Native, keyof Styled> & Standstill

export function Button({ isBusy = false, isOff = false, onClick, ...props }: ButtonProps) {
  return (
    <MantineButton
      {...props}
      {...standstillProps({ isBusy, isOff, onClick })}
      {...(isOff && { 'data-disabled': true })}
      mod={{ loading: isBusy }}
    />
  )
}

/** A button that looks like a text. */
export function QuietButton({ isBusy = false, isOff = false, onClick, ...props }: Native & Standstill) {
  return <button type="button" className="quiet" {...props} {...standstillProps({ isBusy, isOff, onClick })} />
}
