import { Modal } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { counted } from '../../display/texts/counted.ts'
import type { Tone } from '../../display/tone.ts'
import type { Site } from '../../orgs/sites.ts'
import type { SiteRow } from './order-sites.ts'
import { type Cluster, type Place, placeSites } from './place-sites.ts'

const WIDTH = 600
const HEIGHT = 250
const NAMES = 24

interface SitesMapProps {
  readonly orgId: string
  readonly sites: ReadonlyMap<string, Site>
  readonly rows: readonly SiteRow[]
}

/** The sites by their coordinates, on a plane with a grid of degrees: nothing is loaded from elsewhere. */
export function SitesMap({ orgId, sites, rows }: SitesMapProps) {
  const places = rows.flatMap(({ site: { id } }) => placeOf(id, sites.get(id)))
  if (places.length === 0) return null
  const { clusters, meridians, parallels } = placeSites(places, WIDTH / HEIGHT)
  const known = new Map(rows.map((row) => [row.site.id, row]))
  return (
    <div className="sites-map" style={{ aspectRatio: `${WIDTH} / ${HEIGHT}` }}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
        {meridians.map(({ at, label }) => (
          <g key={label}>
            <line x1={at * WIDTH} x2={at * WIDTH} y1={0} y2={HEIGHT} />
            <text x={at * WIDTH + 4} y={HEIGHT - 5}>
              {label}
            </text>
          </g>
        ))}
        {parallels.map(({ at, label }) => (
          <g key={label}>
            <line x1={0} x2={WIDTH} y1={at * HEIGHT} y2={at * HEIGHT} />
            <text x={4} y={at * HEIGHT - 4}>
              {label}
            </text>
          </g>
        ))}
      </svg>
      {clusters.map((cluster) => (
        <Mark
          key={cluster.ids.join(' ')}
          orgId={orgId}
          cluster={cluster}
          rows={cluster.ids.flatMap((id) => known.get(id) ?? [])}
          isNamed={clusters.length <= NAMES}
        />
      ))}
    </div>
  )
}

/** Sites without a location appear only in the list. */
function placeOf(id: string, site: Site | undefined): readonly Place[] {
  const { lat, lng } = site?.latlng ?? {}
  return typeof lat === 'number' && typeof lng === 'number' ? [{ id, lat, lng }] : []
}

interface MarkProps {
  readonly orgId: string
  readonly cluster: Cluster
  readonly rows: readonly SiteRow[]
  readonly isNamed: boolean
}

/** One site, or several that are too near to each other: then it opens the list of them. */
function Mark({ orgId, cluster: { x, y }, rows, isNamed }: MarkProps) {
  const [isOpen, setOpen] = useState(false)
  const [first] = rows
  if (first === undefined) return null
  const away = rows.reduce((sum, row) => sum + row.away, 0)
  const total = rows.reduce((sum, row) => sum + row.total, 0)
  // The name begins with the visible label.
  const name = rows.length === 1 ? first.site.label : `${first.site.label} +${counted(rows.length - 1, 'more site')}`
  const text = `${name}: ${awayText({ away, total })}`
  const shared = {
    ...{ className: 'site-mark state', 'data-tone': toneOf({ away, total }), 'aria-label': text, title: text },
    style: { left: `${100 * x}%`, top: `${100 * y}%` },
    ...(x > 0.8 && { 'data-side': 'left' }),
  }
  const label = (
    <>
      <span className="state-dot" aria-hidden="true" />
      {isNamed && (
        <span aria-hidden="true">{rows.length === 1 ? name : `${first.site.label} +${rows.length - 1}`}</span>
      )}
    </>
  )
  if (rows.length === 1)
    return (
      <Link to="/orgs/$orgId/sites/$siteId" params={{ orgId, siteId: first.site.id }} {...shared}>
        {label}
      </Link>
    )
  return (
    <>
      <button type="button" {...shared} onClick={() => setOpen(true)}>
        {label}
      </button>
      <Modal opened={isOpen} onClose={() => setOpen(false)} title={`${rows.length} sites here`} lockScroll={false}>
        <ul className="site-choice">
          {rows.map((row) => (
            <li key={row.site.id}>
              <Link
                to="/orgs/$orgId/sites/$siteId"
                params={{ orgId, siteId: row.site.id }}
                className="state"
                data-tone={toneOf(row)}
              >
                <span className="state-dot" aria-hidden="true" />
                <span>{row.site.label}</span>
              </Link>
              <span className="muted">{awayText(row)}</span>
            </li>
          ))}
        </ul>
      </Modal>
    </>
  )
}

type Counts = Pick<SiteRow, 'away' | 'total'>

function toneOf({ away, total }: Counts): Tone {
  return total === 0 ? 'idle' : away === 0 ? 'good' : 'bad'
}

function awayText({ away, total }: Counts): string {
  return `${away === 0 ? 'none' : away} of ${counted(total, 'device')} away`
}
