/** Returns what the clock of the viewer shows, such as "2026-11-01T01:30". */
export function readingOf(at: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`
}

/** Returns what the clock of the viewer shows at an instant such as "2026-11-01T00:30:00Z"; empty for a text that is none. */
export function readingAt(instant: string): string {
  const at = new Date(instant)
  return Number.isNaN(at.getTime()) ? '' : readingOf(at)
}

const dated = /^\d{4}-\d{2}-\d{2}T/

/**
 * Returns the instant of a time, such as "2026-11-01T00:30:00Z"; a text that is no time stays as it is.
 * @param time With a zone, or without one on the clock of the viewer.
 */
export function instantOf(time: string): string {
  const at = new Date(time)
  return dated.test(time) && !Number.isNaN(at.getTime()) ? at.toISOString().replace('.000Z', 'Z') : time
}
