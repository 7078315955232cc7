import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import type { Schemas } from '../../api/client.ts'
import { StateMark } from '../../display/state-mark.tsx'
import type { Site } from '../../orgs/sites.ts'
import { capital } from '../../display/texts/capital.ts'
import { deviceTypes, macText, stateOf } from '../device.ts'
import { parseReport } from '../report.ts'
import type { DeviceStats } from '../use-live-devices.ts'
import type { Column, ColumnKey } from './columns.ts'
import type { DeviceSort } from '../device-search.ts'

type Row = Schemas['InventoryHit']

declare module 'react' {
  interface CSSProperties {
    /** The columns of the list: narrow.css has other ones for narrow windows. */
    '--device-columns'?: string
  }
}

interface DeviceTableProps {
  readonly orgId: string
  readonly rows: readonly Row[]
  readonly total: number
  readonly live: ReadonlyMap<string, DeviceStats>
  readonly sites: ReadonlyMap<string, Site> | undefined
  readonly sort: DeviceSort
  readonly columns: readonly Column[]
  readonly onNearEnd: () => void
}

const ROW_PX = 36
/** The next page of rows is read when this many are left below. */
const AHEAD = 30

/** Only the rows in view are in the document, however many there are. */
export function DeviceTable({ orgId, rows, total, live, sites, sort, columns, onNearEnd }: DeviceTableProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  })
  const items = virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= rows.length - AHEAD) onNearEnd()
  }, [last, onNearEnd, rows.length])
  return (
    // A person who uses the keyboard scrolls by focusing it.
    <div className="device-scroller" ref={scroller} tabIndex={0} role="region" aria-label="Device rows">
      <div
        className="device-table"
        role="table"
        aria-label="Devices"
        aria-rowcount={total + 1}
        style={{ '--device-columns': ['minmax(180px, 2.2fr)', ...columns.map(({ width }) => width)].join(' ') }}
      >
        <div role="row" aria-rowindex={1} className="device-row device-head">
          <SortHead title="Name" field="name" sort={sort} />
          {columns.map(({ key, label }) =>
            key === 'model' || key === 'mac' ? (
              <SortHead key={key} title={label} field={key} sort={sort} />
            ) : (
              <span key={key} role="columnheader">
                {label}
              </span>
            ),
          )}
        </div>
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {items.map(({ index, start }) => {
            const row = rows[index]
            if (row === undefined) return null
            return (
              <DeviceRow
                key={row.mac}
                orgId={orgId}
                row={row}
                stats={live.get(row.mac)}
                columns={columns}
                siteName={row.site_id === undefined ? undefined : sites?.get(row.site_id)?.label}
                place={{ index, start }}
              />
            )
          })}
        </div>
      </div>
    </div>
  )
}

function SortHead({
  title,
  field,
  sort,
}: {
  readonly title: string
  readonly field: 'name' | 'model' | 'mac'
  readonly sort: DeviceSort
}) {
  const isOwn = sort === field || sort === `-${field}`
  const next: DeviceSort = sort === field ? `-${field}` : field
  return (
    <span role="columnheader" aria-sort={isOwn ? (sort === field ? 'ascending' : 'descending') : 'none'}>
      <Link
        from="/orgs/$orgId/devices"
        to="/orgs/$orgId/devices"
        search={(search) => ({ ...search, sort: next })}
        replace
      >
        {title}
        {isOwn && <span aria-hidden="true">{sort === field ? ' ↑' : ' ↓'}</span>}
      </Link>
    </span>
  )
}

interface DeviceRowProps {
  readonly orgId: string
  readonly row: Row
  readonly stats: DeviceStats | undefined
  readonly columns: readonly Column[]
  readonly siteName: string | undefined
  readonly place: { readonly index: number; readonly start: number }
}

function DeviceRow({ orgId, row, stats, columns, siteName, place }: DeviceRowProps) {
  const name = row.name === '' ? macText(row.mac) : row.name
  return (
    <div
      role="row"
      aria-rowindex={place.index + 2}
      className="device-row"
      style={{ position: 'absolute', top: 0, insetInline: 0, transform: `translateY(${place.start}px)` }}
    >
      <span role="cell" className="device-name">
        {row.site_id === undefined ? (
          name
        ) : (
          <Link to="/orgs/$orgId/sites/$siteId/devices/$mac" params={{ orgId, siteId: row.site_id, mac: row.mac }}>
            {name}
          </Link>
        )}
      </span>
      {columns.map(({ key }, index) => (
        // A narrow window has room for the name and one column.
        <span key={key} role="cell" className={`${index > 0 ? 'wide ' : ''}${classes[key] ?? ''}`}>
          {cellOf(key, { row, stats, siteName })}
        </span>
      ))}
    </div>
  )
}

const classes: Partial<Readonly<Record<ColumnKey, string>>> = { version: 'number', mac: 'mono', serial: 'mono' }

function cellOf(key: ColumnKey, { row, stats, siteName }: Pick<DeviceRowProps, 'row' | 'stats' | 'siteName'>) {
  if (key === 'state') {
    const upgradeStep = stats === undefined ? null : parseReport(stats).upgradeStep
    const { tone, text } = stateOf(stats?.status ?? row.status, upgradeStep)
    return <StateMark tone={tone}>{text}</StateMark>
  }
  if (key === 'type') return capital(deviceTypes[row.type].one)
  if (key === 'version') return stats?.version ?? row.version ?? '–'
  if (key === 'site') return row.site_id === undefined ? 'Not assigned' : (siteName ?? '')
  if (key === 'mac') return macText(row.mac)
  return row[key]
}
