import { useEffect, useRef, useState } from 'react'
import { Button } from '../forms/button.tsx'
import { focusIfLost } from '../forms/focus.ts'

interface MoreButtonProps {
  readonly query: {
    readonly hasNextPage: boolean
    readonly isFetchingNextPage: boolean
    readonly fetchNextPage: () => unknown
  }
  readonly children?: string
  /** What it says after the last page. */
  readonly end?: string
}

/** Loads the next page of a list. After the last one it says so instead of the button that had the focus. */
export function MoreButton({ query, children = 'Show more', end = 'All are shown.' }: MoreButtonProps) {
  const [isPressed, setPressed] = useState(false)
  const endText = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (!query.hasNextPage && isPressed) focusIfLost(endText.current)
  }, [query.hasNextPage, isPressed])
  if (!query.hasNextPage)
    return (
      isPressed && (
        <p ref={endText} tabIndex={-1} role="status" className="hint">
          {end}
        </p>
      )
    )
  const press = (): void => {
    setPressed(true)
    query.fetchNextPage()
  }
  return (
    <Button variant="default" size="xs" isBusy={query.isFetchingNextPage} onClick={press}>
      {children}
    </Button>
  )
}
