import { type Api, answerOf, useServer } from '../api/client.ts'
import { ConfirmButton } from '../display/forms/confirm-button.tsx'
import { counted } from '../display/texts/counted.ts'
import { type Overview, type UpgradeKind, kinds, standingOf } from './overview.ts'
import { actionsOf, heldPhaseOf, isBeforeStart, sharedEffect } from './rollout/verdict.ts'
import type { Hold } from './upgrade.ts'

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
  const { id, kind, counts } = upgrade
  const { queued, success, failed } = counts
  const { unit } = kinds[kind]
  const standing = standingOf(upgrade)
  const { hold } = standing
  const waiting = counted(queued, unit)
  const path = `/api/v1/sites/{site_id}${kinds[kind].path}/{upgrade_id}` as const
  const params = { path: { site_id: siteId, upgrade_id: id } }
  const offered = actionsOf(kind, { ...standing, failed, awaited: 0 })
  const change = (name: 'pause' | 'resume' | 'cancel') => answerOf(api.POST(`${path}/${name}`, { params })).then(onDone)
  return (
    <>
      {offered.includes('pause') && (
        <ConfirmButton
          action="Pause"
          effect={`No further commands are sent to the ${waiting} still to be upgraded, until somebody resumes the upgrade.`}
          run={() => change('pause')}
        />
      )}
      {offered.includes('resume') && (
        <ConfirmButton
          action="Resume"
          effect={
            hold?.by === 'user'
              ? `The upgrade continues with the ${waiting} still to be upgraded.`
              : `The upgrade waits: ${hold?.reason ?? ''}. Resuming opens the next phase all the same.`
          }
          run={() => change('resume')}
        />
      )}
      {offered.includes('approve') && hold !== null && (
        <ConfirmButton
          action="Approve"
          effect={sharedEffect(`The upgrade waits: ${hold.reason}. It continues with up to ${waiting}.`, hold)}
          run={() => approve(api, params.path, hold).then(onDone)}
        />
      )}
      {offered.includes('cancel') && (
        <ConfirmButton
          action="Cancel"
          isDestructive
          effect={{
            does: 'Cancels at this site the upgrade of',
            counts: [{ count: queued, one: unit }],
            consequences: [
              'They keep their present firmware.',
              `${counted(success, `${unit} stays`, `${unit}s stay`)} upgraded.`,
            ],
            isFinal: true,
          }}
          run={() => change('cancel')}
        />
      )}
      {offered.includes('retry') && (
        <ConfirmButton
          action="Retry"
          effect={`Upgrades and restarts the ${counted(failed, `failed ${unit}`)} again.`}
          run={() => answerOf(api.POST(`${path}/retry`, { params, body: {} })).then(onDone)}
        />
      )}
    </>
  )
}

/** Approves the phase that waits, which only the report has. */
async function approve(
  api: Api,
  path: { readonly site_id: string; readonly upgrade_id: string },
  hold: Hold,
): Promise<void> {
  const one = '/api/v1/sites/{site_id}/devices/upgrade/{upgrade_id}'
  const report = await answerOf(api.GET(`${one}/report`, { params: { path, query: { devices: false } } }))
  if (typeof report === 'string') throw new Error('The report is CSV instead of JSON')
  const body = {
    phase: isBeforeStart(hold) ? 0 : heldPhaseOf(report, hold).phase,
    ...(hold.phase_of !== undefined && { phase_of: hold.phase_of }),
  }
  await answerOf(api.POST(`${one}/approve`, { params: { path }, body }))
}
