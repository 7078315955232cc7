import { type ReactNode, useEffect } from 'react'

interface PageTitleProps {
  readonly title: string
  /** Above the title: where the page is. */
  readonly above?: ReactNode
  /** Beside the title: states. */
  readonly children?: ReactNode
  readonly actions?: ReactNode
}

/** The heading of a page, which is the title of the browser's tab too. */
export function PageTitle({ title, above, children, actions }: PageTitleProps) {
  useEffect(() => {
    document.title = `${title} · Signalbox`
  }, [title])
  return (
    <header className="page-head">
      <div>
        {above !== undefined && <div className="page-above">{above}</div>}
        <h1>{title}</h1>
        {children !== undefined && <div className="page-states">{children}</div>}
      </div>
      {actions !== undefined && <div className="page-actions">{actions}</div>}
    </header>
  )
}
