import { clockTime } from './times.ts'

const instant = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g

/**
 * Returns a text of the server in which instants, such as "2026-12-01T02:00:00.000Z", are as a clock shows them in a zone, or
 * in that of the viewer: a page has one clock.
 */
export function localText(text: string, zone?: string, nowMs?: number): string {
  return text.replace(instant, (iso) => {
    const atMs = Date.parse(iso)
    return Number.isNaN(atMs) ? iso : clockTime(atMs / 1000, zone, nowMs)
  })
}
