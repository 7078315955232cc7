import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type Api, answerOf, useServer } from '../../api/client.ts'
import type { Report } from '../upgrade.ts'
import { useLiveUpgrades } from '../use-live-upgrades.ts'
import { upgradeQuery } from '../use-upgrade.ts'

/**
 * The report and the record of an upgrade, kept up to date while it runs. Until the devices of a large upgrade have
 * arrived, the report is there without them, and `hasDevices` is false.
 */
export function useRollout(orgId: string, upgradeId: string) {
  const { api } = useServer()
  const queries = useQueryClient()
  const reportKey = ['upgrade report', orgId, upgradeId]
  const hasDevices = queries.getQueryData(reportKey) !== undefined
  const summary = useQuery({
    queryKey: ['upgrade summary', orgId, upgradeId],
    queryFn: () => getReport(api, orgId, upgradeId, { devices: false }),
    enabled: !hasDevices,
    gcTime: 0,
  })
  const report = useQuery({
    queryKey: reportKey,
    queryFn: () => getReport(api, orgId, upgradeId),
    // Together, the two would delay each other.
    enabled: hasDevices || summary.isFetched,
  })
  const upgrade = useQuery(upgradeQuery(api, orgId, upgradeId))
  useLiveUpgrades(orgId, upgradeId)
  return {
    report: report.data ?? summary.data,
    hasDevices,
    upgrade: upgrade.data,
    problem: report.error ?? summary.error ?? upgrade.error,
    refresh: async () => {
      await queries.invalidateQueries({ queryKey: reportKey })
      await queries.invalidateQueries({ queryKey: ['upgrade', orgId, upgradeId] })
    },
  }
}

async function getReport(
  api: Api,
  orgId: string,
  upgradeId: string,
  query: { readonly devices?: false } = {},
): Promise<Report> {
  const report = await answerOf(
    api.GET('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}/report', {
      params: { path: { org_id: orgId, upgrade_id: upgradeId }, query },
    }),
  )
  if (typeof report === 'string') throw new Error('The report is CSV instead of JSON')
  return report
}
