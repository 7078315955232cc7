import { ago, clockTime, nearTime } from './times.ts'
import { useNow } from './use-now.ts'

interface SiteTimeProps {
  /** Epoch seconds. */
  readonly at: number
  /** The zone of the site. While the sites are being read it is undefined, and the viewer's zone applies. */
  readonly zone: string | undefined
}

/** How long ago something was; the exact time appears on hover. */
export function Ago({ at }: { readonly at: number }) {
  const now = useNow()
  return (
    <time dateTime={isoTime(at)} title={viewerAndUtc(at)}>
      {ago(at, now)}
    </time>
  )
}

/** A time in the zone of its site; that of the viewer appears on hover. */
export function SiteTime({ at, zone }: SiteTimeProps) {
  if (zone === undefined) return <ViewerTime at={at} />
  return (
    <time dateTime={isoTime(at)} title={`${clockTime(at)} for you`}>
      {clockTime(at, zone)}
    </time>
  )
}

interface ViewerTimeProps {
  readonly at: number
  /** In a list of several sites: the zone of the one that this time is about. */
  readonly siteZone?: string | undefined
}

/**
 * A time in the zone of the viewer, for what has no site and for lists of several sites, which would be out of order in
 * several zones. UTC appears on hover, and the time at the site.
 */
export function ViewerTime({ at, siteZone }: ViewerTimeProps) {
  const atSite = siteZone === undefined ? '' : `${clockTime(at, siteZone)} at the site; `
  return (
    <time dateTime={isoTime(at)} title={`${atSite}${clockTime(at, 'UTC')}`}>
      {clockTime(at)}
    </time>
  )
}

/** The time of day at a site, with the date if it is not near; the date, and the time of the viewer, appear on hover. */
export function SiteTimeOfDay({ at, zone }: SiteTimeProps) {
  return (
    <time
      dateTime={isoTime(at)}
      title={zone === undefined ? viewerAndUtc(at) : `${clockTime(at, zone)}; ${clockTime(at)} for you`}
    >
      {nearTime(at, zone)}
    </time>
  )
}

function isoTime(at: number): string {
  return new Date(at * 1000).toISOString()
}

function viewerAndUtc(at: number): string {
  return `${clockTime(at)}; ${clockTime(at, 'UTC')}`
}
