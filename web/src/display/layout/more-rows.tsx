import { counted } from '../texts/counted.ts'
import { showText } from '../texts/show-text.ts'
import { MoreButton } from './more-button.tsx'

/** What follows a longer table is too far down. */
export const FIRST_ROWS = 12
/** After they are asked for; there may be thousands. */
const MOST_ROWS = 100

interface MoreRowsProps {
  readonly total: number
  /** The number of rows that are shown, FIRST_ROWS at first. */
  readonly limit: number
  /** What a row is. */
  readonly noun: string
  readonly onMore: (limit: number) => void
}

/** Shows more rows of a table on request. */
export function MoreRows({ total, limit, noun, onMore }: MoreRowsProps) {
  if (total <= FIRST_ROWS) return null
  const rest = total - MOST_ROWS
  return (
    <div className="panel-buttons">
      <MoreButton
        query={{
          hasNextPage: limit === FIRST_ROWS,
          isFetchingNextPage: false,
          fetchNextPage: () => onMore(MOST_ROWS),
        }}
        end={rest > 0 ? `and ${counted(rest, `more ${noun}`)}` : 'All are shown.'}
      >
        {showText(MOST_ROWS, total)}
      </MoreButton>
    </div>
  )
}
