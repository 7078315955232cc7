import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { SiteTime } from '../../display/times/time.tsx'
import { UpgradeProgress } from '../../upgrades/upgrade-progress.tsx'
import { targetStatuses, upgradeStates } from '../../upgrades/upgrade.ts'
import { OVERVIEW_MS } from '../use-counts.ts'

const SHOWN = 4

interface SiteUpgradePanelProps {
  readonly siteId: string
  readonly zone: string | undefined
}

/** The latest upgrades of a site: its own, and its part of those of the organization. */
export function SiteUpgradePanel({ siteId, zone }: SiteUpgradePanelProps) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['site upgrades', siteId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/sites/{site_id}/devices/upgrade', {
          params: { path: { site_id: siteId }, query: { limit: SHOWN } },
        }),
      ),
    refetchInterval: OVERVIEW_MS,
  })
  return (
    <Panel title="Upgrades">
      <QueryView query={query}>
        {(upgrades) =>
          upgrades.length === 0 ? (
            <EmptyState title="No upgrades yet" />
          ) : (
            <ol className="log">
              {upgrades.map(({ id, status, target_version: version, start_time: start, counts }) => (
                <li key={id}>
                  <div className="log-head">
                    <span className="log-what">To {version || 'versions by model'}</span>
                    {start !== undefined && <SiteTime at={start} zone={zone} />}
                  </div>
                  <p className="image-line">
                    <StateMark tone={upgradeStates[status].tone}>{upgradeStates[status].text}</StateMark>
                    <span>
                      {counts.upgraded} of {counts.total} upgraded
                      {counts.failed > 0 && <strong className="bad"> · {counts.failed} failed</strong>}
                    </span>
                  </p>
                  <UpgradeProgress
                    counts={
                      new Map(
                        targetStatuses.flatMap((name) => (name === 'left_out' ? [] : [[name, counts[name]] as const])),
                      )
                    }
                  />
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}
