import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { type Api, answerOf, useServer } from '../../api/client.ts'
import { type Report, isRunning } from '../upgrade.ts'
import { pollMs, timed, upgradeQuery } from '../use-upgrade.ts'

/** Reads the report and the record of an upgrade, again and again while it runs. */
export function useRollout(orgId: string, upgradeId: string) {
  const { api } = useServer()
  const queries = useQueryClient()
  const report = useQuery({
    queryKey: ['upgrade report', orgId, upgradeId],
    queryFn: () => timed(() => getReport(api, orgId, upgradeId)),
    refetchInterval: ({ state: { data } }) =>
      data === undefined || isRunning(data.value.status) ? pollMs(data?.tookMs ?? 0) : false,
  })
  const upgrade = useQuery(upgradeQuery(api, orgId, upgradeId))
  const isOver = report.data !== undefined && !isRunning(report.data.value.status)
  // The two are read at their own times: one sees the end before the other.
  useEffect(() => {
    if (isOver) void queries.invalidateQueries({ queryKey: ['upgrade', orgId, upgradeId] })
  }, [isOver, orgId, queries, upgradeId])
  return {
    report: report.data?.value,
    upgrade: upgrade.data?.value,
    problem: report.error ?? upgrade.error,
    refresh: async () => {
      await queries.invalidateQueries({ queryKey: ['upgrade report', orgId, upgradeId] })
      await queries.invalidateQueries({ queryKey: ['upgrade', orgId, upgradeId] })
    },
  }
}

async function getReport(api: Api, orgId: string, upgradeId: string): Promise<Report> {
  const report = await answerOf(
    api.GET('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}/report', {
      params: { path: { org_id: orgId, upgrade_id: upgradeId } },
    }),
  )
  if (typeof report === 'string') throw new Error('The report came as CSV, which nobody asked for')
  return report
}
