import { type Report, isRunning } from '../upgrade.ts'

interface Rest {
  readonly count: number
  /** The draft of an upgrade of them, and of others of their models at their sites that need it. */
  readonly draft: { readonly version?: string; readonly sites: readonly string[]; readonly models: readonly string[] }
}

/** Returns what an upgrade that has ended left as it was; null: nothing. What people excluded or another upgrade took over is not left. */
export function restOf({
  status,
  target_version: version,
  devices,
}: Pick<Report, 'status' | 'target_version' | 'devices'>): Rest | null {
  if (isRunning(status)) return null
  const left = devices.filter((device) => device.status === 'cancelled' && (device.phase ?? 0) > 0)
  if (left.length === 0) return null
  const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)].toSorted()
  return {
    count: left.length,
    draft: {
      ...(version !== '' && { version }),
      sites: distinct(left.map(({ site_id: siteId }) => siteId)),
      models: distinct(left.flatMap(({ model = [] }) => model)),
    },
  }
}
