import type { ReactNode } from 'react'
import { RowHead, RowScope } from './row.tsx'

export interface Column<Row> {
  readonly title: string
  /** Of the head and of the cells. `number` aligns digits; `wide` leaves the column out where the screen is narrow. */
  readonly className?: string
  /** Of the cells alone, beside it. */
  readonly cellClassName?: string
  readonly renderCell: (row: Row) => ReactNode
}

interface TableProps<Row> {
  /** The cells of the first one name their rows, and the buttons in them. */
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string | number
}

/** A table that scrolls within its panel where the screen is too narrow for it. */
export function Table<Row>({ columns, rows, keyOf }: TableProps<Row>) {
  return (
    <div className="table-scroller">
      <table>
        <thead>
          <tr>
            {columns.map(({ title, className }) => (
              <th key={title} scope="col" className={className}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <RowScope key={keyOf(row)}>
              <tr>
                {columns.map(({ title, className, cellClassName, renderCell }, index) =>
                  index === 0 ? (
                    <RowHead key={title}>{renderCell(row)}</RowHead>
                  ) : (
                    <td key={title} className={classes(className, cellClassName)}>
                      {renderCell(row)}
                    </td>
                  ),
                )}
              </tr>
            </RowScope>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function classes(...names: readonly (string | undefined)[]): string | undefined {
  return names.filter(Boolean).join(' ') || undefined
}
