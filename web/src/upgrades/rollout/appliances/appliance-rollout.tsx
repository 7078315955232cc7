import { Link } from '@tanstack/react-router'
import { useMay, useSelf } from '../../../accounts/self.ts'
import { type Api, answerOf, useServer } from '../../../api/client.ts'
import { ProblemNote, Skeleton } from '../../../display/layout/notices.tsx'
import { PageTitle } from '../../../display/layout/page-title.tsx'
import { counted } from '../../../display/texts/counted.ts'
import { Panel } from '../../../display/layout/panel.tsx'
import { StateMark } from '../../../display/state-mark.tsx'
import { TextZone } from '../../../display/times/text-zone.ts'
import { SiteTime } from '../../../display/times/time.tsx'
import { sharedZone, useSites } from '../../../orgs/sites.ts'
import { headingOf, kinds, standingOf } from '../../overview.ts'
import { stateOf } from '../../upgrade.ts'
import { EndTime } from '../end-time.tsx'
import { UpgradeText } from '../../upgrade-text.tsx'
import { GatedPhases } from '../phases/gated-phases.tsx'
import { begins } from '../../exclusion.ts'
import { awaitedText, offlineText } from '../../verdict.ts'
import { TimelinePanel } from '../timeline/timeline-panel.tsx'
import { ApplianceActions, type ApplianceCalls } from '../../appliance-actions.tsx'
import { ApplianceTargets } from './appliance-targets.tsx'
import { applianceTimeline } from './appliance-timeline.ts'
import {
  type ApplianceUpgrade,
  applianceVerdict,
  countAppliances,
  gatedPhasesOf,
  heldGateOfAppliances,
  isWaiting,
} from '../../appliance.ts'
import { barOf } from '../../approver.ts'
import { HoldNote } from '../hold-note.tsx'
import { type AppliancePlace, useApplianceRollout } from './use-appliance-rollout.ts'
import { localText } from '../../../display/times/local-text.ts'

/** An upgrade may have a note for each of thousands of appliances. */
const SHOWN = 100

/** An upgrade of edge appliances. */
export function ApplianceRollout(place: AppliancePlace) {
  const { orgId, upgradeId } = place
  const { upgrade, targets, log, problem, refresh } = useApplianceRollout(place)
  const { api } = useServer()
  const mayWrite = useMay('write', { orgId })
  const self = useSelf()
  const sites = useSites(orgId).data
  if (upgrade === undefined || targets === undefined)
    return problem === null ? <Skeleton rows={12} /> : <ProblemNote problem={problem} />
  const zone = sharedZone(
    sites,
    targets.map(({ site_id: siteId = '' }) => siteId),
  )
  const names = new Map(targets.map(({ mxedge_id: id, name }) => [id, name]))
  const awaited = awaitedText(upgrade.awaited ?? 0, kinds.mxedge.unit)
  const offline = offlineText(upgrade, kinds.mxedge.unit)
  const phases = countAppliances(upgrade, targets)
  const gated = gatedPhasesOf(upgrade, phases)
  const hold = upgrade.held ?? null
  const gate = heldGateOfAppliances(upgrade, hold)
  const bar = mayWrite ? barOf({ hold, gate, creator: upgrade.creator }, self) : null
  const excludable = new Set(mayWrite && begins(upgrade) ? targets.filter(isWaiting) : [])
  const { tone, text } = stateOf(standingOf(upgrade))
  const timeline = (
    <div>
      <TimelinePanel entries={applianceTimeline(upgrade, { log: log.data ?? [], phases })} />
      <ProblemNote problem={log.error} />
    </div>
  )
  return (
    <TextZone value={zone}>
      <PageTitle
        call={`/orgs/${orgId}${kinds.mxedge.path}/${upgradeId}`}
        title={headingOf(upgrade, upgrade)}
        above={
          <Link to="/orgs/$orgId/upgrades" params={{ orgId }}>
            Upgrades
          </Link>
        }
        actions={
          mayWrite && (
            <ApplianceActions
              upgrade={upgrade}
              phase={upgrade.phase}
              gate={gate}
              isBarred={bar !== null}
              calls={callsOf(api, place)}
              onDone={refresh}
            />
          )
        }
      >
        <StateMark tone={tone}>{text}</StateMark>
        <span>{kinds.mxedge.text}</span>
        <span aria-live="polite">{applianceVerdict(upgrade, zone)}</span>
        {upgrade.status === 'queued' && hold === null && (
          <span>
            starts <SiteTime at={upgrade.start_time} zone={zone} />
          </span>
        )}
        <EndTime {...upgrade} />
      </PageTitle>
      <HoldNote hold={hold} held={{ phases: gated, phase: upgrade.phase, words: 'phase' }} bar={bar} />
      {offline !== null && <p className="note">{offline}</p>}
      {awaited !== null && <p className="note">{awaited}</p>}
      <Panel title="Phases" aside={upgrade.strategy.replaceAll('_', ' ')}>
        <GatedPhases
          phases={phases}
          gated={{ phases: gated, ...(upgrade.start_gate !== undefined && { start_gate: upgrade.start_gate }) }}
          open={upgrade.status === 'queued' ? null : upgrade.phase}
          hold={hold}
        />
      </Panel>
      <ApplianceTargets place={place} targets={targets} excludable={excludable} onDone={refresh} />
      {upgrade.notes.length === 0 ? (
        timeline
      ) : (
        <div className="columns wide-left">
          <NotesPanel orgId={orgId} upgrade={upgrade} names={names} zone={zone} />
          {timeline}
        </div>
      )}
    </TextZone>
  )
}

function callsOf(api: Api, { orgId, upgradeId }: AppliancePlace): ApplianceCalls {
  const params = { path: { org_id: orgId, upgrade_id: upgradeId } }
  const path = '/api/v1/orgs/{org_id}/mxedges/upgrade/{upgrade_id}'
  return {
    change: (change) => answerOf(api.POST(`${path}/${change}`, { params })),
    retry: () => answerOf(api.POST(`${path}/retry`, { params, body: {} })),
    approve: (body) => answerOf(api.POST(`${path}/approve`, { params, body })),
  }
}

interface NotesPanelProps {
  readonly orgId: string
  readonly upgrade: ApplianceUpgrade
  /** By the ids of the appliances. */
  readonly names: ReadonlyMap<string, string>
  readonly zone: string | undefined
}

/** What was left out, and options without effect. */
function NotesPanel({ orgId, upgrade: { notes }, names, zone }: NotesPanelProps) {
  return (
    <Panel title="Notes" aside={notes.length}>
      <ul className="log">
        {notes.slice(0, SHOWN).map(({ mxedge_id: id, name, reason }) => (
          <li key={`${id ?? ''} ${reason}`}>
            {id !== undefined && (
              <Link to="/orgs/$orgId/edges/$mxedgeId" params={{ orgId, mxedgeId: id }}>
                {name ?? names.get(id) ?? 'Appliance'}
              </Link>
            )}{' '}
            <UpgradeText orgId={orgId} text={localText(reason, zone)} />
          </li>
        ))}
      </ul>
      {notes.length > SHOWN && <p className="plan-line muted">and {counted(notes.length - SHOWN, 'more note')}</p>}
    </Panel>
  )
}
