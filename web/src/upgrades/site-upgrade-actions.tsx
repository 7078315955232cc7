import { useQuery } from '@tanstack/react-query'
import { useSelf } from '../accounts/self.ts'
import { type Api, answerOf, useServer } from '../api/client.ts'
import { ConfirmButton } from '../display/forms/confirm-button.tsx'
import { ProblemNote } from '../display/layout/notices.tsx'
import { counted } from '../display/texts/counted.ts'
import { type Overview, type UpgradeKind, kinds, standingOf } from './overview.ts'
import { barOf } from './rollout/approver.ts'
import { reportOf } from './rollout/calls.ts'
import { pauseEffect, resumeEffect, retryEffect, sharedEffect } from './rollout/effects.ts'
import { actionsOf, heldPhaseOf, isBeforeStart } from './rollout/verdict.ts'
import { cancelEffect, unfinishedOf } from './site-effects.ts'
import type { Hold, Report } from './upgrade.ts'

/** The kinds whose part at a site can be changed there. */
type SiteKind = Exclude<UpgradeKind, 'mxedge'>

interface SiteUpgradeActionsProps {
  readonly siteId: string
  readonly upgrade: Overview & { readonly kind: SiteKind }
  readonly onDone: () => Promise<void>
}

/** The possible actions on the part of an upgrade at a site, for people whose role at the site does not reach the whole. */
export function SiteUpgradeActions({ siteId, upgrade, onDone }: SiteUpgradeActionsProps) {
  const { api } = useServer()
  const self = useSelf()
  const { id, kind, counts, other_sites: concernsOthers = false } = upgrade
  const { failed } = counts
  const { unit } = kinds[kind]
  const standing = standingOf(upgrade)
  const { hold } = standing
  const waiting = counted(unfinishedOf(counts), unit)
  const path = `/api/v1/sites/{site_id}${kinds[kind].path}/{upgrade_id}` as const
  const params = { path: { site_id: siteId, upgrade_id: id } }
  const isAwaited = hold?.by === 'approval' && standing.stopReason === null && !concernsOthers
  // It has the phase that waits, and the people who have approved it.
  const report = useQuery({
    queryKey: ['site upgrades', siteId, id, hold],
    queryFn: () => getSiteReport(api, params.path),
    enabled: isAwaited,
  })
  const bar = isAwaited && report.data !== undefined ? barOf({ report: report.data, hold }, self) : null
  const isBarred = report.data === undefined || bar !== null
  const possible = actionsOf(kind, { ...standing, failed, awaited: 0, isBarred })
  // The others concern the upgrade as a whole.
  const offered = concernsOthers ? possible.filter((action) => action === 'cancel') : possible
  const change = (name: 'pause' | 'resume' | 'cancel') => answerOf(api.POST(`${path}/${name}`, { params })).then(onDone)
  const approve = (phase: number, { phase_of }: Hold) => {
    const body = { phase: isBeforeStart(hold) ? 0 : phase, ...(phase_of !== undefined && { phase_of }) }
    return answerOf(api.POST('/api/v1/sites/{site_id}/devices/upgrade/{upgrade_id}/approve', { params, body })).then(
      onDone,
    )
  }
  return (
    <>
      {offered.includes('pause') && (
        <ConfirmButton action="Pause" effect={pauseEffect(waiting, null)} run={() => change('pause')} />
      )}
      {offered.includes('resume') && (
        <ConfirmButton action="Resume" effect={resumeEffect(waiting, hold)} run={() => change('resume')} />
      )}
      {bar !== null && <span className="muted">{bar}</span>}
      <ProblemNote problem={report.error} />
      {offered.includes('approve') && hold !== null && report.data !== undefined && (
        <ConfirmButton
          action="Approve"
          effect={sharedEffect(`The upgrade waits: ${hold.reason}. It continues with up to ${waiting}.`, hold)}
          run={() => approve(heldPhaseOf(report.data, hold).phase, hold)}
        />
      )}
      {offered.includes('cancel') && (
        <ConfirmButton action="Cancel" isDestructive effect={cancelEffect(counts, unit)} run={() => change('cancel')} />
      )}
      {offered.includes('retry') && (
        <ConfirmButton
          action="Retry"
          effect={retryEffect(failed, unit)}
          run={() => answerOf(api.POST(`${path}/retry`, { params, body: {} })).then(onDone)}
        />
      )}
    </>
  )
}

async function getSiteReport(
  api: Api,
  path: { readonly site_id: string; readonly upgrade_id: string },
): Promise<Report> {
  const params = { path, query: { devices: false } }
  return reportOf(await answerOf(api.GET('/api/v1/sites/{site_id}/devices/upgrade/{upgrade_id}/report', { params })))
}
