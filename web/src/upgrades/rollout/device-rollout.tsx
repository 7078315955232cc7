import { Link } from '@tanstack/react-router'
import { useMay, useSelf } from '../../accounts/self.ts'
import { ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { counted } from '../../display/texts/counted.ts'
import { StateMark } from '../../display/state-mark.tsx'
import { SiteTimeOfDay } from '../../display/times/time.tsx'
import { TextZone, useTextZone } from '../../display/times/text-zone.ts'
import { useNow } from '../../display/times/use-now.ts'
import { type Site, sharedZone, useSites } from '../../orgs/sites.ts'
import { headingOf, kinds } from '../overview.ts'
import { type Upgrade, awaitedOf, holdOf, stateOf, stopReasonOf } from '../upgrade.ts'
import { barOf, creatorOf } from '../approver.ts'
import type { UpgradePlace } from '../calls.ts'
import { EndTime } from './end-time.tsx'
import { estimateEnd } from './estimate-end.ts'
import { HoldNote } from './hold-note.tsx'
import { restOf } from './rest.ts'
import { type WindowsAhead, windowsAheadOf } from './outlook.ts'
import { FloorPanel } from './sites/floor-panel.tsx'
import { PhasePanel } from './phases/phase-panel.tsx'
import { RolloutActions } from './rollout-actions.tsx'
import { SitePanel } from './sites/site-panel.tsx'
import { versionText } from './strategy-text.ts'
import { TargetPanel } from './targets/target-panel.tsx'
import type { TargetSearch } from './targets/target-search.ts'
import { TimelinePanel } from './timeline/timeline-panel.tsx'
import { timelineOf } from './timeline/timeline.ts'
import { useRollout } from './use-rollout.ts'
import { type State, awaitedText, heldGateOf, heldPhaseOf, offlineText, verdictOf } from '../verdict.ts'

interface DeviceRolloutProps {
  readonly place: UpgradePlace
  readonly search: TargetSearch
}

/** An upgrade of devices or SSR routers. */
export function DeviceRollout({ place, search }: DeviceRolloutProps) {
  const { orgId, upgradeId, kind } = place
  const { report, hasDevices, offline: offlineCount, upgrade, problem, refresh } = useRollout(place)
  const mayWrite = useMay('write', { orgId })
  const self = useSelf()
  const sites = useSites(orgId).data
  if (report === undefined || upgrade === undefined || (!hasDevices && problem !== null))
    return problem === null ? <Skeleton rows={12} /> : <ProblemNote problem={problem} />
  const hold = holdOf(upgrade)
  const state = { report, hold, stopReason: stopReasonOf(upgrade, report.status) }
  const { tone, text } = stateOf({ status: report.status, ...state })
  const bar = mayWrite ? barOf({ hold, gate: heldGateOf(report, hold), creator: creatorOf(report) }, self) : null
  const awaited = awaitedText(awaitedOf(upgrade), kinds[kind].unit)
  const offline = offlineText({ offline: offlineCount }, kinds[kind].unit)
  const siteIds = report.sites.map(({ site_id: siteId }) => siteId)
  const zone = sharedZone(sites, siteIds)
  const path = `/orgs/${orgId}${kinds[kind].path}/${upgradeId}`
  return (
    <TextZone value={zone}>
      <PageTitle
        call={path}
        title={headingOf(report, { target_version: report.target_version })}
        above={
          <Link to="/orgs/$orgId/upgrades" params={{ orgId }}>
            Upgrades
          </Link>
        }
        actions={
          <>
            {mayWrite && (
              <RolloutActions place={place} state={state} counts={upgrade} isBarred={bar !== null} onDone={refresh} />
            )}
            <a className="link-button" href={`/api/v1${path}/report?format=csv`} download>
              Report as CSV
            </a>
          </>
        }
      >
        <StateMark tone={tone}>{text}</StateMark>
        {kind !== 'device' && <span>{kinds[kind].text}</span>}
        <span>{versionText(report)}</span>
        <span aria-live="polite">{verdictOf(state, zone)}</span>
        <EndEstimate state={state} upgrade={upgrade} />
        <EndTime {...report} />
        <NextWindow ahead={windowsAheadOf(state, upgrade)} sites={sites} />
      </PageTitle>
      <HoldNote hold={hold} held={heldPhaseOf(report, hold)} bar={bar} />
      {awaited !== null && <p className="note">{awaited}</p>}
      {offline !== null && <p className="note">{offline}</p>}
      {mayWrite && kind === 'device' && <RestNote orgId={orgId} rest={restOf(report)} />}
      <PhasePanel report={report} hold={hold} unit={kinds[kind].unit} />
      <div id="devices">
        {hasDevices ? (
          <TargetPanel
            place={place}
            report={report}
            search={search}
            sites={sites}
            mayWrite={mayWrite}
            onDone={refresh}
          />
        ) : (
          <Panel title={kinds[kind].text} aside={report.total}>
            <Skeleton rows={8} />
          </Panel>
        )}
      </div>
      <div className="columns wide-left">
        <div>
          <SitePanel orgId={orgId} report={report} upgrade={upgrade} sites={sites} />
          {/* Floor plans show where access points hang; routers stand in racks. */}
          {hasDevices && kind === 'device' && <FloorPanel report={report} siteId={search.site} mapId={search.map} />}
        </div>
        <TimelinePanel entries={timelineOf(report)} />
      </div>
    </TextZone>
  )
}

interface RestNoteProps {
  readonly orgId: string
  readonly rest: ReturnType<typeof restOf>
}

/** A retry repeats what failed: those that were not begun need another upgrade. */
function RestNote({ orgId, rest }: RestNoteProps) {
  if (rest === null) return null
  return (
    <p className="note">
      {counted(rest.count, 'device was', 'devices were')} not begun.{' '}
      <Link to="/orgs/$orgId/upgrades/new" params={{ orgId }} search={rest.draft}>
        Plan an upgrade of the rest
      </Link>
    </p>
  )
}

interface NextWindowProps {
  readonly ahead: WindowsAhead | null
  readonly sites: ReadonlyMap<string, Site> | undefined
}

/** When the upgrade goes on at the first of the sites that wait for their windows. */
function NextWindow({ ahead, sites }: NextWindowProps) {
  if (ahead === null) return null
  const site = sites?.get(ahead.firstSiteId)
  return (
    <span>
      {ahead.text} <SiteTimeOfDay at={ahead.firstAt} zone={site?.timezone} />
      {site !== undefined && ` at ${site.label}`}
    </span>
  )
}

interface EndEstimateProps {
  readonly state: State
  readonly upgrade: Upgrade
}

/** When the upgrade will have ended. */
function EndEstimate({ state, upgrade }: EndEstimateProps) {
  const zone = useTextZone()
  const end = estimateEnd({ ...state, sites: upgrade.upgrades }, useNow())
  if (end === null) return null
  return (
    <span>
      done about <SiteTimeOfDay at={end} zone={zone} />
    </span>
  )
}
