import { ago, clockTime, timeOfDay } from './times.ts'
import { useNow } from './use-now.ts'

/** How long ago something was; the exact time appears on hover. */
export function Ago({ at }: { readonly at: number }) {
  const now = useNow()
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={clockTime(at)}>
      {ago(at, now)}
    </time>
  )
}

/** A time in the zone of its site; that of the viewer appears on hover. */
export function SiteTime({ at, zone }: { readonly at: number; readonly zone?: string | undefined }) {
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={`${clockTime(at)} for you`}>
      {clockTime(at, zone)}
    </time>
  )
}

/** The time of day at a site; the date, and the time of the viewer, appear on hover. */
export function SiteTimeOfDay({ at, zone }: { readonly at: number; readonly zone?: string | undefined }) {
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={`${clockTime(at, zone)}; ${clockTime(at)} for you`}>
      {timeOfDay(at, zone)}
    </time>
  )
}
