import { Fragment } from 'react'
import { macText } from '../../devices/device.ts'
import { counted } from '../../display/texts/counted.ts'
import { Panel } from '../../display/layout/panel.tsx'
import { SiteTime } from '../../display/times/time.tsx'
import { type Site, sharedZone } from '../../orgs/sites.ts'
import { targetText } from '../upgrade.ts'
import { PhaseSegments } from '../phase-segments.tsx'
import { type PlanChanges, type Preview, type ReasonGroup, groupNoted, groupSkipped } from './plan-summary.ts'

/** A phase of a large organization has hundreds of sites. */
const MAX_SITES = 12
const MAX_DEVICES = 12
const MAX_CHANGES = 12
/** More phases would not fit beside each other. */
const MAX_SEGMENTS = 12

type Sites = ReadonlyMap<string, Site> | undefined

interface PlanPanelProps {
  readonly plan: Preview
  readonly sites: Sites
}

/** The plan: the phases with their sites and times, the devices that are left out and why, and the end. */
export function PlanPanel({ plan, sites }: PlanPanelProps) {
  return (
    <Panel title="3. Plan" aside={<PlanEnd plan={plan} sites={sites} />}>
      {plan.total === 0 ? (
        <p className="plan-line">No device would be upgraded.</p>
      ) : (
        <Phases plan={plan} sites={sites} />
      )}
      <Skipped plan={plan} />
      {plan.notes.map(
        ({ site_id: siteId, mac, reason }) =>
          mac === undefined && (
            <p className="plan-line" key={`${siteId} ${reason}`}>
              {siteId === undefined ? 'All sites' : (sites?.get(siteId)?.name ?? siteId)}: {reason}
            </p>
          ),
      )}
      <Noted plan={plan} />
    </Panel>
  )
}

/** The phases with their sizes, their sites and times. */
function Phases({ plan, sites }: PlanPanelProps) {
  return (
    <>
      <p className="plan-line">
        Upgrades {counted(plan.total, 'device')} in {counted(plan.phases.length, 'phase')}.
        {plan.stops_after_failures !== null && ` It stops after ${counted(plan.stops_after_failures, 'failure')}.`}
        {plan.paths.length > 0 &&
          ` ${counted(
            plan.paths.reduce((sum, { macs }) => sum + macs.length, 0),
            'device',
          )} restart more than once, to pass over versions in between.`}
      </p>
      {plan.phases.length <= MAX_SEGMENTS && (
        <PhaseSegments
          segments={plan.phases.map(({ percent, total, stops_after_failures: stops }, index) => ({
            ...{ phase: index + 1, total, state: 'ahead' as const, aside: `up to ${percent} %` },
            shares: [{ name: 'waiting', tone: 'idle', count: total }],
            figures: `${counted(total, 'device')}${stops === undefined ? '' : `, stops at ${counted(stops, 'failure')}`}`,
          }))}
        />
      )}
      <div className="table-scroller">
        <table>
          <thead>
            <tr>
              <th scope="col">Phase</th>
              <th scope="col" className="number">
                Devices
              </th>
              <th scope="col">Sites, with the time at which each begins</th>
            </tr>
          </thead>
          <tbody>
            {[...plan.phases.entries()].map(([index, phase]) => (
              <tr key={index}>
                <th scope="row">
                  {index + 1} <span className="muted">up to {phase.percent} %</span>
                </th>
                <td className="number">{phase.total}</td>
                <td>
                  <PhaseSites phase={phase} sites={sites} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

/** In the time of the sites if they share a zone. */
function PlanEnd({ plan: { ends_about: end, phases }, sites }: PlanPanelProps) {
  if (end === null) return 'Nothing to do'
  const siteIds = phases.flatMap((phase) => phase.sites.map(({ site_id: siteId }) => siteId))
  return (
    <>
      Ends about <SiteTime at={end} zone={sharedZone(sites, siteIds)} />
    </>
  )
}

function PhaseSites({ phase, sites }: { readonly phase: Preview['phases'][number]; readonly sites: Sites }) {
  if (phase.sites.length === 0) return <span className="muted">None</span>
  return (
    <ul className="plan-sites">
      {phase.sites.slice(0, MAX_SITES).map(({ site_id: id, start_time: start, begins_about: begins, macs }) => (
        <li key={id}>
          {sites?.get(id)?.name ?? id} <span className="muted">{counted(macs.length, 'device')}, from </span>
          <SiteTime at={begins ?? start} zone={sites?.get(id)?.timezone} />
        </li>
      ))}
      {phase.sites.length > MAX_SITES && <li>and {counted(phase.sites.length - MAX_SITES, 'more site')}</li>}
    </ul>
  )
}

function Skipped({ plan }: { readonly plan: Preview }) {
  const groups = groupSkipped(plan)
  if (groups.length === 0) return null
  return (
    <section className="plan-line" aria-label="Skipped">
      <p>Skips {counted(plan.skipped.length, 'device')}:</p>
      <ReasonList groups={groups} />
    </section>
  )
}

/** What differs for some of the devices that are upgraded. */
function Noted({ plan }: { readonly plan: Preview }) {
  const groups = groupNoted(plan)
  if (groups.length === 0) return null
  return (
    <section className="plan-line" aria-label="Devices with a note">
      <p>Of the devices that are upgraded:</p>
      <ReasonList groups={groups} />
    </section>
  )
}

function ReasonList({ groups }: { readonly groups: readonly ReasonGroup[] }) {
  return (
    <ul>
      {groups.map(({ reason, devices }) => (
        <li key={reason}>
          {counted(devices.length, 'device')}: {reason}{' '}
          <span className="muted">
            {devices.slice(0, MAX_DEVICES).map((device, index) => (
              <Fragment key={device.mac}>
                {index > 0 && ', '}
                <span title={macText(device.mac)}>{targetText(device)}</span>
              </Fragment>
            ))}
            {devices.length > MAX_DEVICES && ` and ${devices.length - MAX_DEVICES} more`}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Why the plan that a person has seen was not carried out. */
export function PlanChangesNote({ changes, sites }: { readonly changes: PlanChanges; readonly sites: Sites }) {
  const shown = changes.differences.slice(0, MAX_CHANGES)
  return (
    <div className="note" role="alert">
      <p>
        Nothing was started: {counted(changes.total, 'fact')} that the plan relied on changed since. Below is a new
        plan.
      </p>
      <ul>
        {shown.map(({ mac, name, site_id: siteId, reason }) => (
          <li key={`${mac} ${siteId} ${reason}`}>
            {mac === undefined ? (
              (sites?.get(siteId ?? '')?.name ?? siteId)
            ) : (
              <span title={macText(mac)}>{targetText({ mac, name })}</span>
            )}{' '}
            {reason}
          </li>
        ))}
        {changes.total > shown.length && <li>and {changes.total - shown.length} more</li>}
      </ul>
    </div>
  )
}
