import type { Port } from './telemetry.ts'

/** A port whose link has come up or gone down since the last report. */
export interface PortChange {
  readonly port: string
  /** True if it has a link now. */
  readonly up: boolean
  /** How often the link has changed: more than once if several reports arrived together. */
  readonly count: number
}

/** Bounds the events of one device and one round: twice the ports of most switches. */
export const MAX_PORT_CHANGES = 96

/**
 * Compares the ports of consecutive reports. A port that was not reported before, or whose link is unknown, has not
 * changed.
 * @param reports The oldest first, beginning with the last one that is known of the same boot.
 * @returns At most MAX_PORT_CHANGES, in the order of the last report.
 */
export function decidePortChanges(reports: readonly (readonly Port[])[]): PortChange[] {
  const known = new Map<string, PortChange>()
  for (const ports of reports)
    for (const { id: port, up } of ports) {
      if (up === undefined) continue
      const before = known.get(port)
      const count = (before?.count ?? 0) + Number(before !== undefined && before.up !== up)
      known.set(port, { port, up, count })
    }
  return [...known.values()].filter(({ count }) => count > 0).slice(0, MAX_PORT_CHANGES)
}
