import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useSelf } from '../accounts/self.ts'
import { type Api, type Schemas, answerOf, useServer } from '../api/client.ts'
import { ProblemNote } from '../display/layout/notices.tsx'
import { counted } from '../display/texts/counted.ts'
import { useTextZone } from '../display/times/text-zone.ts'
import { type Overview, kinds, standingOf } from './overview.ts'
import { noteOf } from './note-of.ts'
import { ActionButtons, type Offer } from './action-buttons.tsx'
import { ApplianceActions } from './appliance-actions.tsx'
import { heldGateOfAppliances } from './appliance.ts'
import { barOf, creatorOf } from './approver.ts'
import { type RolloutKind, reportOf } from './calls.ts'
import { MAX_APPROVAL_NOTE, NoteField } from './note-field.tsx'
import { continueEffect, pauseEffect, resumeEffect, retryEffect } from './effects.ts'
import { type Action, actionsOf, heldGateOf, heldPhaseOf, isBeforeStart, stopWaitingEffect } from './verdict.ts'
import { cancelEffect, unfinishedOf } from './site-effects.ts'
import type { Hold, Report } from './upgrade.ts'

interface SiteUpgradeActionsProps {
  readonly siteId: string
  readonly upgrade: Overview
  readonly onDone: () => Promise<void>
}

/** The possible actions on an upgrade at a site, for people whose role there does not reach the whole organization. */
export function SiteUpgradeActions({ siteId, upgrade, onDone }: SiteUpgradeActionsProps) {
  const { kind, other_sites: concernsOthers = false } = upgrade
  if (kind !== 'mxedge') return <PartActions siteId={siteId} upgrade={{ ...upgrade, kind }} onDone={onDone} />
  return concernsOthers ? null : <AppliancesActions siteId={siteId} upgrade={upgrade} onDone={onDone} />
}

/** Those on an upgrade of edge appliances. */
function AppliancesActions({ siteId, upgrade, onDone }: SiteUpgradeActionsProps) {
  const { api } = useServer()
  const { id, held = null } = upgrade
  const self = useSelf()
  const params = { path: { site_id: siteId, upgrade_id: id } }
  const path = '/api/v1/sites/{site_id}/mxedges/upgrade/{upgrade_id}'
  // It has the phase that waits, its gate, and the people who have approved it.
  const record = useQuery({
    queryKey: ['site upgrades', siteId, id, held],
    queryFn: () => answerOf(api.GET(path, { params })),
    enabled: held?.by === 'approval' || held?.by === 'gate',
    // As below.
    placeholderData: keepPreviousData,
  })
  const gate = record.data && heldGateOfAppliances(record.data, held)
  const bar = barOf({ hold: held, gate, creator: record.data?.creator }, self)
  return (
    <>
      {bar !== null && <span className="muted">{bar}</span>}
      <ProblemNote problem={record.error} />
      <ApplianceActions
        upgrade={upgrade}
        phase={record.data?.phase}
        gate={gate}
        isBarred={bar !== null}
        calls={{
          change: (change) => answerOf(api.POST(`${path}/${change}`, { params })),
          retry: () => answerOf(api.POST(`${path}/retry`, { params, body: {} })),
          approve: (body) => answerOf(api.POST(`${path}/approve`, { params, body })),
        }}
        onDone={onDone}
      />
    </>
  )
}

interface PartActionsProps extends SiteUpgradeActionsProps {
  readonly upgrade: Overview & { readonly kind: RolloutKind }
}

/** What a site may do with its part of an upgrade that also concerns other sites. */
const ofPart: ReadonlySet<Action> = new Set(['cancel', 'stopWaiting'])

/** Those on the part of an upgrade of devices or routers. */
function PartActions({ siteId, upgrade, onDone }: PartActionsProps) {
  const { api } = useServer()
  const [note, setNote] = useState('')
  const self = useSelf()
  const zone = useTextZone()
  const { id, kind, counts, awaited = 0, other_sites: concernsOthers = false } = upgrade
  const { failed } = counts
  const { unit } = kinds[kind]
  const standing = standingOf(upgrade)
  const { hold } = standing
  const waiting = counted(unfinishedOf(counts), unit)
  const path = `/api/v1/sites/{site_id}${kinds[kind].path}/{upgrade_id}` as const
  const params = { path: { site_id: siteId, upgrade_id: id } }
  const isAtGate = hold?.by === 'approval' || hold?.by === 'gate'
  const isAwaited = isAtGate && standing.stopReason === null && !concernsOthers
  // It has the phase that waits, its gate, and the people who have approved it.
  const report = useQuery({
    queryKey: ['site upgrades', siteId, id, hold],
    queryFn: () => getSiteReport(api, path, params.path),
    enabled: isAwaited,
    // Otherwise an open dialog would go, with what was typed there, when another person approves.
    placeholderData: keepPreviousData,
  })
  const gate = report.data && heldGateOf(report.data, hold)
  const bar =
    isAwaited && report.data !== undefined ? barOf({ hold, gate, creator: creatorOf(report.data) }, self) : null
  const isBarred = report.data === undefined || bar !== null
  const possible = actionsOf({ ...standing, failed, awaited, isBarred, endTime: upgrade.end_time })
  // The others concern the upgrade as a whole.
  const offered = concernsOthers ? possible.filter((action) => ofPart.has(action)) : possible
  const change = (name: 'pause' | 'resume' | 'cancel') => answerOf(api.POST(`${path}/${name}`, { params }))
  const offers: Readonly<Partial<Record<Action, Offer>>> = {
    pause: { title: 'Pause', effect: pauseEffect(waiting, null), run: () => change('pause') },
    resume: { title: 'Resume', effect: resumeEffect(waiting, hold, gate, zone), run: () => change('resume') },
    approve: {
      title: 'Approve',
      effect: continueEffect(waiting, hold, gate, zone),
      fields: <NoteField note={note} onChange={setNote} maxLength={MAX_APPROVAL_NOTE} />,
      onOpen: () => setNote(''),
      run: () =>
        answerOf(api.POST(`${path}/approve`, { params, body: approvalOf({ report: report.data, hold, note }) })),
    },
    cancel: { title: 'Cancel', isDestructive: true, effect: cancelEffect(counts, unit), run: () => change('cancel') },
    stopWaiting: { title: 'Stop waiting', effect: stopWaitingEffect(awaited, unit), run: () => change('cancel') },
    retry: {
      title: 'Retry',
      effect: retryEffect(failed, unit),
      run: () => answerOf(api.POST(`${path}/retry`, { params, body: {} })),
    },
  }
  return (
    <>
      {bar !== null && <span className="muted">{bar}</span>}
      <ProblemNote problem={report.error} />
      <ActionButtons actions={offered} offers={offers} onDone={onDone} />
    </>
  )
}

type PartBase = `/api/v1/sites/{site_id}${(typeof kinds)[RolloutKind]['path']}/{upgrade_id}`

interface PartPath {
  readonly site_id: string
  readonly upgrade_id: string
}

interface Awaited {
  readonly report: Report | undefined
  readonly hold: Hold | null
  readonly note: string
}

function approvalOf({ report, hold, note }: Awaited): Schemas['UpgradeApprovalCreate'] {
  return {
    phase: report === undefined || isBeforeStart(hold) ? 0 : heldPhaseOf(report, hold).phase,
    ...(hold?.phase_of !== undefined && { phase_of: hold.phase_of }),
    ...noteOf(note),
  }
}

async function getSiteReport(api: Api, base: PartBase, path: PartPath): Promise<Report> {
  return reportOf(await answerOf(api.GET(`${base}/report`, { params: { path, query: { devices: false } } })))
}
