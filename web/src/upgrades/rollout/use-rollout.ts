import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useServer } from '../../api/client.ts'
import { type UpgradeChange, applyChange } from '../apply-change.ts'
import type { Report } from '../upgrade.ts'
import { refetchType, useLiveUpgrades } from '../use-live-upgrades.ts'
import { type UpgradePlace, getRecord, getReport } from '../calls.ts'

const READ_AGAIN_MS = 10_000

/**
 * The report and the record of an upgrade, kept up to date while it runs. Until the devices of a large upgrade have
 * arrived, the report is there without them, and `hasDevices` is false.
 */
export function useRollout(place: UpgradePlace) {
  const { orgId, upgradeId, kind } = place
  const { api } = useServer()
  const queries = useQueryClient()
  const reportKey = ['upgrade report', orgId, upgradeId]
  const recordKey = ['upgrade', orgId, upgradeId]
  const hasDevices = queries.getQueryData(reportKey) !== undefined
  const summary = useQuery({
    queryKey: ['upgrade summary', orgId, upgradeId],
    queryFn: () => getReport(api, place, { devices: false }),
    enabled: !hasDevices,
    gcTime: 0,
  })
  const report = useQuery({
    queryKey: reportKey,
    queryFn: () => getReport(api, place),
    // Together, the two would delay each other.
    enabled: hasDevices || summary.isFetched,
  })
  const upgrade = useQuery({
    queryKey: recordKey,
    queryFn: () => getRecord(api, place),
  })
  const offline = useOffline(place, report.data ?? summary.data, report.dataUpdatedAt)
  const refresh = async (type?: 'active' | 'none'): Promise<void> => {
    const options = type === undefined ? {} : { refetchType: type }
    await Promise.all([
      queries.invalidateQueries({ queryKey: reportKey, ...options }),
      queries.invalidateQueries({ queryKey: recordKey, ...options }),
    ])
  }
  useLiveUpgrades(`/orgs/${orgId}`, [kind], {
    onChange(data) {
      const change = data as UpgradeChange
      if (change.upgrade_id !== upgradeId) return false
      queries.setQueryData<Report>(reportKey, (known) => known && applyChange(known, change))
      return true
    },
    read: () => refresh(refetchType()),
  })
  return {
    report: report.data ?? summary.data,
    hasDevices,
    offline,
    upgrade: upgrade.data,
    problem: report.error ?? summary.error ?? upgrade.error,
    refresh: () => refresh(),
  }
}

/**
 * For how many devices the upgrade waits that are offline. One that comes back while the upgrade is paused, or outside of the
 * windows, changes nothing of it, so no message says so: see decision 746.
 */
function useOffline(place: UpgradePlace, report: Report | undefined, readAt: number): number {
  const { api } = useServer()
  const known = report?.offline ?? 0
  const query = useQuery({
    queryKey: ['upgrade offline', place, readAt],
    queryFn: async () => (await getReport(api, place, { devices: false })).offline ?? 0,
    initialData: known,
    enabled: known > 0,
    staleTime: READ_AGAIN_MS,
    refetchInterval: READ_AGAIN_MS,
    gcTime: 0,
  })
  return known > 0 ? query.data : 0
}
