import { Button } from '@mantine/core'

interface MoreButtonProps {
  readonly query: {
    readonly hasNextPage: boolean
    readonly isFetchingNextPage: boolean
    readonly fetchNextPage: () => Promise<unknown>
  }
  readonly children?: string
}

/** Loads the next page of a list; it is absent on the last one. */
export function MoreButton({ query, children = 'Show more' }: MoreButtonProps) {
  if (!query.hasNextPage) return null
  return (
    <Button variant="default" size="xs" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
      {children}
    </Button>
  )
}
