import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useMay } from '../../accounts/self.ts'
import { answerOf, useServer } from '../../api/client.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { ShareBar } from '../../display/share-bar.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { SiteTime } from '../../display/times/time.tsx'
import { type Overview, goalText, kinds, sharesOf, standingOf } from '../../upgrades/overview.ts'
import { SiteUpgradeActions } from '../../upgrades/site-upgrade-actions.tsx'
import { UpgradeLink } from '../../upgrades/upgrade-link.tsx'
import { stateOf } from '../../upgrades/upgrade.ts'
import { OVERVIEW_MS } from '../use-counts.ts'
import { Row, RowName } from '../../display/layout/row.tsx'

const SHOWN = 4

interface SiteUpgradePanelProps {
  readonly orgId: string
  readonly siteId: string
  readonly zone: string | undefined
}

/** The latest upgrades of a site, of each kind: its own, and its part of those of the organization. */
export function SiteUpgradePanel({ orgId, siteId, zone }: SiteUpgradePanelProps) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['site upgrades', siteId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/sites/{site_id}/upgrades', { params: { path: { site_id: siteId }, query: { limit: SHOWN } } }),
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
              {upgrades.map((upgrade) => (
                <SiteUpgrade key={upgrade.id} orgId={orgId} siteId={siteId} upgrade={upgrade} zone={zone} />
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}

interface SiteUpgradeProps {
  readonly orgId: string
  readonly siteId: string
  readonly upgrade: Overview
  readonly zone: string | undefined
}

function SiteUpgrade({ orgId, siteId, upgrade, zone }: SiteUpgradeProps) {
  const { kind, counts, start_time: start } = upgrade
  const queries = useQueryClient()
  // Roles in single sites do not reach the pages of upgrades.
  const mayOpen = useMay('read', { orgId })
  // The pages have the buttons of those who may change the whole upgrade.
  const mayChangeWhole = useMay('write', { orgId })
  const mayChange = useMay('write', { orgId, siteId }) && !mayChangeWhole
  const { tone, text } = stateOf(standingOf(upgrade))
  return (
    <Row>
      <div className="log-head">
        <span className="log-what">
          {mayOpen ? <UpgradeLink orgId={orgId} upgrade={upgrade} /> : `To ${goalText(upgrade)}`}
          {kind !== 'device' && <span className="muted"> · {kinds[kind].text}</span>}
        </span>
        {start !== undefined && (
          <RowName>
            <SiteTime at={start} zone={zone} />
          </RowName>
        )}
      </div>
      <p className="image-line">
        <StateMark tone={tone}>{text}</StateMark>
        <span>
          {counts.success} of {counts.total} upgraded
          {counts.skipped > 0 && `, ${counts.skipped} skipped`}
          {counts.failed > 0 && <strong className="bad"> · {counts.failed} failed</strong>}
        </span>
      </p>
      <ShareBar label={kinds[kind].text} shares={sharesOf(counts)} />
      {mayChange && kind !== 'mxedge' && (
        <div className="panel-buttons">
          <SiteUpgradeActions
            siteId={siteId}
            upgrade={{ ...upgrade, kind }}
            onDone={() => queries.invalidateQueries({ queryKey: ['site upgrades', siteId] })}
          />
        </div>
      )}
    </Row>
  )
}
