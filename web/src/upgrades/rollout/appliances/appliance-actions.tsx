import { answerOf, useServer } from '../../../api/client.ts'
import { ConfirmButton } from '../../../display/forms/confirm-button.tsx'
import { counted } from '../../../display/texts/counted.ts'
import { standingOf } from '../../overview.ts'
import { pauseEffect, resumeEffect } from '../effects.ts'
import { actionsOf, stopWaitingEffect } from '../verdict.ts'
import type { ApplianceUpgrade } from './appliance.ts'
import type { AppliancePlace } from './use-appliance-rollout.ts'

interface ApplianceActionsProps {
  readonly place: AppliancePlace
  readonly upgrade: ApplianceUpgrade
  readonly onDone: () => Promise<void>
}

/** The possible actions on an upgrade of appliances; each button states its effect. */
export function ApplianceActions({ place, upgrade, onDone }: ApplianceActionsProps) {
  const { api } = useServer()
  const { counts, held, awaited = 0 } = upgrade
  const { queued, upgrading, success, failed } = counts
  const params = { path: { org_id: place.orgId, upgrade_id: place.upgradeId } }
  const waiting = counted(queued, 'appliance')
  const going =
    upgrading === 0
      ? null
      : `${counted(upgrading, 'appliance that is under way finishes its step', 'appliances that are under way finish their steps')}.`
  const offered = actionsOf('mxedge', { ...standingOf(upgrade), failed, awaited })
  const done = (call: Promise<unknown>) => call.then(onDone)
  const cancel = () => done(answerOf(api.POST('/api/v1/orgs/{org_id}/mxedges/upgrade/{upgrade_id}/cancel', { params })))
  return (
    <>
      {offered.includes('pause') && (
        <ConfirmButton
          action="Pause"
          effect={pauseEffect(waiting, going)}
          run={() => done(answerOf(api.POST('/api/v1/orgs/{org_id}/mxedges/upgrade/{upgrade_id}/pause', { params })))}
        />
      )}
      {offered.includes('resume') && (
        <ConfirmButton
          action="Resume"
          effect={resumeEffect(waiting, held ?? null)}
          run={() => done(answerOf(api.POST('/api/v1/orgs/{org_id}/mxedges/upgrade/{upgrade_id}/resume', { params })))}
        />
      )}
      {offered.includes('cancel') && (
        <ConfirmButton
          action="Cancel the upgrade"
          isDestructive
          effect={{
            does: 'Cancels the upgrade of',
            counts: [{ count: queued, one: 'appliance' }],
            consequences: [
              'They keep their present versions.',
              ...(going === null ? [] : [going]),
              `${counted(success, 'appliance stays', 'appliances stay')} upgraded.`,
            ],
            isFinal: true,
          }}
          run={cancel}
        />
      )}
      {offered.includes('stopWaiting') && (
        <ConfirmButton action="Stop waiting" effect={stopWaitingEffect(awaited, 'appliance')} run={cancel} />
      )}
      {offered.includes('retry') && (
        <ConfirmButton
          action="Retry"
          effect={`Upgrades the ${counted(failed, 'failed appliance')} again.`}
          run={() =>
            done(answerOf(api.POST('/api/v1/orgs/{org_id}/mxedges/upgrade/{upgrade_id}/retry', { params, body: {} })))
          }
        />
      )}
    </>
  )
}
