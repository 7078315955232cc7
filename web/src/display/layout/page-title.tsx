import { type ReactNode, useEffect } from 'react'
import { CurlButton } from './curl-button.tsx'
import type { PageCall } from './curl-text.ts'

interface PageTitleProps {
  readonly title: string
  /** Above the title: where the page is. */
  readonly above?: ReactNode
  /** Beside the title: states. */
  readonly children?: ReactNode
  readonly actions?: ReactNode
  /** The call that returns the data on the page; a text is the path of a GET. */
  readonly call?: string | PageCall
}

/** The heading of a page, which is the title of the browser's tab too. */
export function PageTitle({ title, above, children, actions, call }: PageTitleProps) {
  useEffect(() => {
    document.title = `${title} · Signalbox`
  }, [title])
  return (
    <header className="page-head">
      <div>
        {above !== undefined && <div className="page-above">{above}</div>}
        <h1>{title}</h1>
        {children !== undefined && children !== false && <div className="page-states">{children}</div>}
      </div>
      {(actions !== undefined || call !== undefined) && (
        <div className="page-actions">
          {call !== undefined && <CurlButton call={typeof call === 'string' ? { path: call } : call} />}
          {actions}
        </div>
      )}
    </header>
  )
}
