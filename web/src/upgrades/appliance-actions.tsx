import { counted } from '../display/texts/counted.ts'
import { useTextZone } from '../display/times/text-zone.ts'
import { standingOf } from './overview.ts'
import { ActionButtons } from './action-buttons.tsx'
import { pauseEffect, resumeEffect } from './effects.ts'
import { actionsOf, stopWaitingEffect } from './verdict.ts'
import type { ApplianceUpgrade } from './appliance.ts'

export interface ApplianceCalls {
  readonly change: (change: 'pause' | 'resume' | 'cancel') => Promise<unknown>
  readonly retry: () => Promise<unknown>
}

interface ApplianceActionsProps {
  readonly upgrade: Parameters<typeof standingOf>[0] & Pick<ApplianceUpgrade, 'counts' | 'awaited' | 'end_time'>
  readonly calls: ApplianceCalls
  readonly onDone: () => Promise<void>
}

/** The possible actions on an upgrade of appliances, at whatever place; each button states its effect. */
export function ApplianceActions({ upgrade, calls, onDone }: ApplianceActionsProps) {
  const standing = standingOf(upgrade)
  const zone = useTextZone()
  const { counts, awaited = 0, end_time: endTime } = upgrade
  const { queued, upgrading, success, failed } = counts
  const waiting = counted(queued, 'appliance')
  const going =
    upgrading === 0
      ? null
      : `${counted(upgrading, 'appliance that is under way finishes its step', 'appliances that are under way finish their steps')}.`
  const cancel = () => calls.change('cancel')
  return (
    <ActionButtons
      actions={actionsOf('mxedge', { ...standing, failed, awaited, endTime })}
      onDone={onDone}
      offers={{
        pause: { title: 'Pause', effect: pauseEffect(waiting, going), run: () => calls.change('pause') },
        resume: {
          title: 'Resume',
          effect: resumeEffect(waiting, standing.hold, undefined, zone),
          run: () => calls.change('resume'),
        },
        cancel: {
          title: 'Cancel the upgrade',
          isDestructive: true,
          effect: {
            does: 'Cancels the upgrade of',
            counts: [{ count: queued, one: 'appliance' }],
            consequences: [
              'They keep their present versions.',
              ...(going === null ? [] : [going]),
              `${counted(success, 'appliance stays', 'appliances stay')} upgraded.`,
            ],
            isFinal: true,
          },
          run: cancel,
        },
        stopWaiting: { title: 'Stop waiting', effect: stopWaitingEffect(awaited, 'appliance'), run: cancel },
        retry: {
          title: 'Retry',
          effect: `Upgrades the ${counted(failed, 'failed appliance')} again.`,
          run: calls.retry,
        },
      }}
    />
  )
}
