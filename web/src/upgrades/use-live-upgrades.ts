import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useServer } from '../api/client.ts'
import { type Refresher, createRefresher } from '../api/refresher.ts'
import { type UpgradeChange, applyChange } from './apply-change.ts'
import type { Report } from './upgrade.ts'

/**
 * Keeps the page's upgrades up to date with the server. The content of a message is shown immediately; the rest is read
 * again, if the page shows it.
 * @param only The upgrade that the page shows; without it, all of the organization.
 */
export function useLiveUpgrades(orgId: string, only?: string): void {
  const { stream } = useServer()
  const queries = useQueryClient()
  useEffect(() => {
    const refreshers = new Map<string, Refresher>()
    function changed({ upgrade_id: upgradeId }: UpgradeChange): void {
      const known = refreshers.get(upgradeId)
      const refresher = known ?? createRefresher({ refresh: () => readAgain(queries, orgId, upgradeId), schedule })
      refreshers.set(upgradeId, refresher)
      refresher.request()
      // The upgrade may have just been created.
      if (known === undefined) void queries.invalidateQueries({ queryKey: ['upgrades', orgId] })
    }
    const all = (): void => void readAgain(queries, orgId, only)
    const end = stream.subscribe(`/orgs/${orgId}/devices/upgrade`, {
      onData(data) {
        const change = data as UpgradeChange
        if (only !== undefined && change.upgrade_id !== only) return
        queries.setQueryData<Report>(
          ['upgrade report', orgId, change.upgrade_id],
          (report) => report && applyChange(report, change),
        )
        changed(change)
      },
      onGap: all,
      onSubscribed: all,
    })
    return () => {
      end()
      for (const refresher of refreshers.values()) refresher.stop()
    }
  }, [only, orgId, queries, stream])
}

const schedule = (run: () => void, ms: number): void => void setTimeout(run, ms)

/** A hidden tab reads when it is shown again. @returns The duration of the read in milliseconds. */
async function readAgain(queries: QueryClient, orgId: string, upgradeId?: string): Promise<number> {
  const refetchType = document.hidden ? 'none' : 'active'
  const one = upgradeId === undefined ? [] : [upgradeId]
  const began = performance.now()
  await Promise.all([
    queries.invalidateQueries({ queryKey: ['upgrade report', orgId, ...one], refetchType }),
    queries.invalidateQueries({ queryKey: ['upgrade', orgId, ...one], refetchType }),
  ])
  return performance.now() - began
}
