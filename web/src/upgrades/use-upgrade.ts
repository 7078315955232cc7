import { queryOptions } from '@tanstack/react-query'
import { type Api, answerOf } from '../api/client.ts'
import { type Upgrade, isRunning } from './upgrade.ts'

/** How often a running upgrade is read. A record that takes long to make is read less often: a quarter of the time. */
const POLL_MS = 1500
const PAUSE_FACTOR = 4

export interface Read<Value> {
  readonly value: Value
  readonly tookMs: number
}

export async function timed<Value>(read: () => Promise<Value>): Promise<Read<Value>> {
  const began = performance.now()
  const value = await read()
  return { value, tookMs: performance.now() - began }
}

export function pollMs(tookMs: number): number {
  return Math.max(POLL_MS, PAUSE_FACTOR * tookMs)
}

/** The record of an upgrade, read again while it runs. */
export function upgradeQuery(api: Api, orgId: string, upgradeId: string) {
  return queryOptions({
    queryKey: ['upgrade', orgId, upgradeId],
    queryFn: () =>
      timed(() =>
        answerOf(
          api.GET('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}', {
            params: { path: { org_id: orgId, upgrade_id: upgradeId } },
          }),
        ),
      ),
    refetchInterval: ({ state: { data } }) =>
      data === undefined || isUpgradeRunning(data.value) ? pollMs(data?.tookMs ?? 0) : false,
  })
}

export function isUpgradeRunning({ upgrades }: Upgrade): boolean {
  return upgrades.some(({ upgrade }) => isRunning(upgrade.status))
}
