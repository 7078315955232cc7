import { type ReactNode, useId } from 'react'
import { grouped } from '../texts/counted.ts'

interface PanelProps {
  readonly title: string
  /** Beside the title: a count, a link. */
  readonly aside?: ReactNode
  readonly children: ReactNode
}

/** A part of a page with its own heading. */
export function Panel({ title, aside, children }: PanelProps) {
  const id = useId()
  return (
    <section className="panel" aria-labelledby={id}>
      <header className="panel-head">
        <h2 id={id}>{title}</h2>
        {aside !== undefined && (
          <span className="panel-aside">{typeof aside === 'number' ? grouped(aside) : aside}</span>
        )}
      </header>
      {children}
    </section>
  )
}
