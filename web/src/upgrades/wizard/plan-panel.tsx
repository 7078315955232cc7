import { Link } from '@tanstack/react-router'
import { Fragment } from 'react'
import { counted } from '../../display/texts/counted.ts'
import { Panel } from '../../display/layout/panel.tsx'
import { Table } from '../../display/layout/table.tsx'
import { useTextZone } from '../../display/times/text-zone.ts'
import { SiteTime } from '../../display/times/time.tsx'
import type { Site } from '../../orgs/sites.ts'
import { type UpgradeKind, kinds } from '../overview.ts'
import { PhaseSegments } from '../phase-segments.tsx'
import { UpgradeText } from '../upgrade-text.tsx'
import { type Draft, settle } from './draft.ts'
import { emptyPhasesText, gatesOfPlan, optionTexts, passingText, planText } from './plan-text.ts'
import { type NamedMember, type Plan, type PlanChanges, type PlanNote, groupByReason } from './plan.ts'
import { localText } from '../../display/times/local-text.ts'

/** A phase of a large organization has hundreds of sites. */
const MAX_SITES = 12
const MAX_MEMBERS = 12
const MAX_CHANGES = 12
/** More phases would not fit beside each other. */
const MAX_SEGMENTS = 12

type Sites = ReadonlyMap<string, Site> | undefined

interface PlanPanelProps {
  readonly draft: Draft
  readonly plan: Plan
  readonly sites: Sites
}

/** The plan: the phases with what begins in them and when, what is left out and why, and the end. */
export function PlanPanel({ orgId, draft, plan, sites }: PlanPanelProps & { readonly orgId: string }) {
  const { kind } = settle(draft)
  const { unit } = kinds[kind]
  const zone = useTextZone()
  return (
    <Panel title="3. Plan" aside={<PlanEnd plan={plan} />}>
      {plan.total === 0 ? <EmptyPlan orgId={orgId} kind={kind} /> : <Phases draft={draft} plan={plan} sites={sites} />}
      {plan.skipped.length > 0 && (
        <section className="plan-line" aria-label="Skipped">
          <p>Skips {counted(plan.skipped.length, unit)}:</p>
          <ReasonList orgId={orgId} notes={plan.skipped} unit={unit} />
        </section>
      )}
      {plan.notes.map(({ siteId, reason }) => (
        <p className="plan-line" key={`${siteId} ${reason}`}>
          {kind !== 'mxedge' && `${siteId === undefined ? 'All sites' : (sites?.get(siteId)?.label ?? siteId)}: `}
          <UpgradeText orgId={orgId} text={localText(reason, sites?.get(siteId ?? '')?.timezone ?? zone)} />
        </p>
      ))}
      {plan.noted.length > 0 && (
        <section className="plan-line" aria-label={`${kinds[kind].text} with a note`}>
          <p>Of the {unit}s that are upgraded:</p>
          <ReasonList orgId={orgId} notes={plan.noted} unit={unit} />
        </section>
      )}
    </Panel>
  )
}

/** What has to be there before something can be upgraded; below it the plan says what was skipped, and why. */
function EmptyPlan({ orgId, kind }: { readonly orgId: string; readonly kind: UpgradeKind }) {
  const { unit } = kinds[kind]
  const params = { orgId }
  return (
    <div className="plan-line">
      <p>No {unit} would be upgraded. An upgrade needs:</p>
      <ul>
        <li>
          {kind === 'mxedge' ? (
            <Link to="/orgs/$orgId/edges" params={params}>
              Edge appliances that have registered
            </Link>
          ) : (
            <>
              <Link to="/orgs/$orgId/claim" params={params}>
                Claimed {unit}s
              </Link>{' '}
              in a site, which have connected:{' '}
              <Link to="/orgs/$orgId/devices" params={params} search={{ status: 'disconnected' }}>
                those that are disconnected
              </Link>
            </>
          )}
        </li>
        <li>
          <Link to="/orgs/$orgId/firmware" params={params}>
            Firmware
          </Link>{' '}
          for them, in a version that they do not run yet
        </li>
      </ul>
    </div>
  )
}

/** The phases with their sizes, their sites or appliances, and times. */
function Phases({ draft, plan, sites }: PlanPanelProps) {
  const { kind } = settle(draft)
  const { text, unit } = kinds[kind]
  const zone = useTextZone()
  const gated = new Set(gatesOfPlan(draft, plan).map(({ phase }) => phase))
  const emptyText = emptyPhasesText(draft, plan)
  return (
    <>
      <p className="plan-line">
        {planText(draft, plan)}.{plan.stopsAfter !== null && ` It stops after ${counted(plan.stopsAfter, 'failure')}.`}
        {passingText(plan, unit)}
      </p>
      {emptyText !== null && <p className="plan-line">{emptyText}</p>}
      {optionTexts(draft, plan, zone).map((option) => (
        <p className="plan-line" key={option}>
          {option}
        </p>
      ))}
      {plan.phases.length <= MAX_SEGMENTS && (
        <PhaseSegments
          isStartPassed={gated.has(0) ? false : undefined}
          segments={plan.phases.map(({ number, percent, total, stopsAfter }) => ({
            ...{ phase: number, total, state: 'ahead' as const, aside: `up to ${percent} %` },
            isGatePassed: gated.has(number) ? false : undefined,
            shares: [{ name: 'waiting', tone: 'idle', count: total }],
            figures: `${counted(total, unit)}${stopsAfter === undefined ? '' : `, stops at ${counted(stopsAfter, 'failure')}`}`,
          }))}
        />
      )}
      <Table
        rows={plan.phases}
        keyOf={({ number }) => number}
        columns={[
          {
            title: 'Phase',
            renderCell: ({ number, percent }) => (
              <>
                {number} <span className="muted">up to {percent} %</span>
              </>
            ),
          },
          { title: text, className: 'number', renderCell: ({ total }) => total },
          {
            title: kind === 'mxedge' ? 'Begin, and the steps of each' : 'Sites, with the time at which each begins',
            renderCell: (phase) =>
              kind === 'mxedge' ? (
                <PhaseAppliances phase={phase} />
              ) : (
                <PhaseSites phase={phase} sites={sites} unit={unit} />
              ),
          },
        ]}
      />
    </>
  )
}

function PlanEnd({ plan: { endsAbout: end } }: Pick<PlanPanelProps, 'plan'>) {
  const zone = useTextZone()
  if (end === null) return 'Nothing to do'
  return (
    <>
      Ends about <SiteTime at={end} zone={zone} />
    </>
  )
}

type Phase = Plan['phases'][number]

interface PhaseSitesProps {
  readonly phase: Phase
  readonly sites: Sites
  readonly unit: string
}

function PhaseSites({ phase, sites, unit }: PhaseSitesProps) {
  return (
    <ul className="plan-sites">
      {phase.sites.slice(0, MAX_SITES).map(({ id, count, begins }) => (
        <li key={id}>
          {sites?.get(id)?.label ?? id} <span className="muted">{counted(count, unit)}, from </span>
          <SiteTime at={begins} zone={sites?.get(id)?.timezone} />
        </li>
      ))}
      {phase.sites.length > MAX_SITES && <li>and {counted(phase.sites.length - MAX_SITES, 'more site')}</li>}
    </ul>
  )
}

function PhaseAppliances({ phase: { appliances, beginsAbout } }: { readonly phase: Phase }) {
  const zone = useTextZone()
  return (
    <ul className="plan-sites">
      {beginsAbout !== undefined && (
        <li>
          <span className="muted">from </span>
          <SiteTime at={beginsAbout} zone={zone} />
        </li>
      )}
      {appliances.slice(0, MAX_MEMBERS).map(({ id, name, steps }) => (
        <li key={id}>
          {name} <span className="muted">{steps.join(', ')}</span>
        </li>
      ))}
      {appliances.length > MAX_MEMBERS && <li>and {counted(appliances.length - MAX_MEMBERS, 'more appliance')}</li>}
    </ul>
  )
}

interface ReasonListProps {
  readonly orgId: string
  readonly notes: readonly PlanNote[]
  readonly unit: string
}

function ReasonList({ orgId, notes, unit }: ReasonListProps) {
  const zone = useTextZone()
  return (
    <ul>
      {groupByReason(notes).map(({ reason, members }) => (
        <li key={reason}>
          {counted(members.length, unit)}: <UpgradeText orgId={orgId} text={localText(reason, zone)} />{' '}
          <span className="muted">
            {members.slice(0, MAX_MEMBERS).map((member, index) => (
              <Fragment key={member.id}>
                {index > 0 && ', '}
                <MemberName member={member} />
              </Fragment>
            ))}
            {members.length > MAX_MEMBERS && ` and ${members.length - MAX_MEMBERS} more`}
          </span>
        </li>
      ))}
    </ul>
  )
}

function MemberName({ member: { name, address } }: { readonly member: NamedMember }) {
  return <span title={address}>{name}</span>
}

interface PlanChangesNoteProps {
  readonly orgId: string
  readonly changes: PlanChanges
  readonly sites: Sites
}

/** Why the plan that a person has seen was not carried out. */
export function PlanChangesNote({ orgId, changes, sites }: PlanChangesNoteProps) {
  const shown = changes.differences.slice(0, MAX_CHANGES)
  const zone = useTextZone()
  return (
    <div className="note" role="alert">
      <p>
        Nothing was started: {counted(changes.total, 'fact')} that the plan relied on changed since. Below is a new
        plan.
      </p>
      <ul>
        {shown.map(({ member, siteId, reason }) => (
          <li key={`${member?.id} ${siteId} ${reason}`}>
            {member === undefined ? (sites?.get(siteId ?? '')?.label ?? siteId) : <MemberName member={member} />}{' '}
            <UpgradeText orgId={orgId} text={localText(reason, sites?.get(siteId ?? '')?.timezone ?? zone)} />
          </li>
        ))}
        {changes.total > shown.length && <li>and {changes.total - shown.length} more</li>}
      </ul>
    </div>
  )
}
