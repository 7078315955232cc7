import { type ReactNode, createContext, use, useId } from 'react'
import { QuietButton } from '../forms/button.tsx'

const NameId = createContext<string | null>(null)

interface RowProps {
  readonly as?: 'li' | 'div'
  readonly className?: string
  readonly children: ReactNode
}

/** A row of a list whose rows have the same buttons or links; <RowName> in it names the row. */
export function Row({ as: Element = 'li', ...props }: RowProps) {
  return (
    <RowScope>
      <Element {...props} />
    </RowScope>
  )
}

/** Lets the <RowName> in it name the buttons of a row whose element needs attributes of its own. */
export function RowScope({ children }: { readonly children: ReactNode }) {
  const id = useId()
  return <NameId value={id}>{children}</NameId>
}

interface RowNameProps {
  /** A div may contain paragraphs. */
  readonly as?: 'span' | 'div'
  readonly className?: string
  readonly children: ReactNode
}

/** The part of a row that distinguishes it from the others. */
export function RowName({ as: Element = 'span', ...props }: RowNameProps) {
  return <Element id={use(NameId) ?? undefined} {...props} />
}

/** The same as the first cell of a row of a table. */
export function RowHead({ children }: { readonly children: ReactNode }) {
  return (
    <th scope="row" id={use(NameId) ?? undefined}>
      {children}
    </th>
  )
}

/**
 * Returns the attributes of a button or link that name it by its own text and by its row: read aloud without the row, all of
 * them would sound the same. It has no effect outside of rows.
 */
export function useRowLabel(): { readonly id?: string; readonly 'aria-labelledby'?: string } {
  const id = useId()
  const row = use(NameId)
  return row === null ? {} : { id, 'aria-labelledby': `${id} ${row}` }
}

interface RowButtonProps {
  readonly isBusy: boolean
  readonly onClick: () => void
  readonly children: ReactNode
}

/** A small button of a row. */
export function RowButton(props: RowButtonProps) {
  return <QuietButton {...useRowLabel()} {...props} />
}

/** The head of details in a row. */
export function RowSummary({ children }: { readonly children: ReactNode }) {
  return <summary {...useRowLabel()}>{children}</summary>
}
