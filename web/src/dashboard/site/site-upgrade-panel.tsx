import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { answerOf, useServer } from '../../api/client.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { ShareBar } from '../../display/share-bar.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { SiteTime } from '../../display/times/time.tsx'
import { type Overview, kinds, noteOf, sharesOf, standingOf, titleOf } from '../../upgrades/overview.ts'
import { SiteUpgradeActions } from '../../upgrades/site-upgrade-actions.tsx'
import { SiteTargets } from '../../upgrades/site-targets.tsx'
import { UpgradeLink } from '../../upgrades/upgrade-link.tsx'
import { stateOf } from '../../upgrades/upgrade.ts'
import { awaitedText } from '../../upgrades/verdict.ts'
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
  const mayStart = useMay('write', { orgId, siteId })
  const query = useQuery({
    queryKey: ['site upgrades', siteId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/sites/{site_id}/upgrades', { params: { path: { site_id: siteId }, query: { limit: SHOWN } } }),
      ),
    refetchInterval: OVERVIEW_MS,
  })
  return (
    <Panel title="Upgrades" aside={mayStart ? <NewUpgradeLink orgId={orgId} siteId={siteId} /> : undefined}>
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

/** The wizard of the organization, which also starts upgrades of several routers, or that of the site for others. */
function NewUpgradeLink({ orgId, siteId }: Pick<SiteUpgradePanelProps, 'orgId' | 'siteId'>) {
  const mayWriteOrg = useMay('write', { orgId })
  if (mayWriteOrg)
    return (
      <Link to="/orgs/$orgId/upgrades/new" params={{ orgId }} search={{ sites: [siteId] }}>
        New upgrade
      </Link>
    )
  return (
    <Link to="/orgs/$orgId/sites/$siteId/upgrades/new" params={{ orgId, siteId }}>
      New upgrade
    </Link>
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
  const awaited = awaitedText(upgrade.awaited ?? 0, kinds[kind].unit)
  const { tone, text } = stateOf(standingOf(upgrade))
  const done = () => queries.invalidateQueries({ queryKey: ['site upgrades', siteId] })
  // Only the organization has the record of an upgrade of appliances that concerns other sites.
  const hasTargets = !mayChangeWhole && (kind !== 'mxedge' || upgrade.other_sites === undefined)
  return (
    <Row>
      <div className="log-head">
        <span className="log-what">
          {mayOpen ? <UpgradeLink orgId={orgId} upgrade={upgrade} /> : titleOf(upgrade)}
          {kind !== 'device' && <span className="muted"> · {kinds[kind].text}</span>}
        </span>
        {start !== undefined && (
          <RowName>
            <SiteTime at={start} zone={zone} />
          </RowName>
        )}
      </div>
      <div className="site-upgrade">
        <p className="image-line">
          <StateMark tone={tone}>{text}</StateMark>
          <span>
            {counts.success} of {counts.total} upgraded
            {counts.skipped > 0 && `, ${counts.skipped} skipped`}
            {counts.failed > 0 && <strong className="bad"> · {counts.failed} failed</strong>}
          </span>
        </p>
        <ShareBar label={kinds[kind].text} shares={sharesOf(counts)} />
        <WaitNote upgrade={upgrade} zone={zone} />
        {awaited !== null && <p>{awaited}</p>}
        {mayChange && (
          <div className="panel-buttons">
            <SiteUpgradeActions siteId={siteId} upgrade={upgrade} onDone={done} />
          </div>
        )}
      </div>
      {hasTargets && <SiteTargets siteId={siteId} zone={zone} upgrade={upgrade} mayChange={mayChange} onDone={done} />}
    </Row>
  )
}

/** Why the upgrade waits or was stopped, and until when it waits. */
function WaitNote({ upgrade, zone }: Pick<SiteUpgradeProps, 'upgrade' | 'zone'>) {
  const { held, waits_until: opensAt, stop_reason: stopReason } = upgrade
  const note = noteOf(upgrade, zone)
  if (note === undefined)
    return opensAt === undefined ? null : (
      <p>
        Waits for a maintenance window, which opens <SiteTime at={opensAt} zone={zone} />
      </p>
    )
  return (
    <p>
      {note}
      {stopReason === undefined && held?.until !== undefined && (
        <>
          , until about <SiteTime at={held.until} zone={zone} />
        </>
      )}
    </p>
  )
}
