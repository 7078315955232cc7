import { useState } from 'react'
import type { Schemas } from '../api/client.ts'
import { counted } from '../display/texts/counted.ts'
import { useTextZone } from '../display/times/text-zone.ts'
import { standingOf } from './overview.ts'
import { noteOf } from './note-of.ts'
import { ActionButtons } from './action-buttons.tsx'
import { continueEffect, pauseEffect, resumeEffect } from './effects.ts'
import { MAX_APPROVAL_NOTE, NoteField } from './note-field.tsx'
import { actionsOf, isBeforeStart, stopWaitingEffect } from './verdict.ts'
import type { ApplianceUpgrade, Gate } from './appliance.ts'

export interface ApplianceCalls {
  readonly change: (change: 'pause' | 'resume' | 'cancel') => Promise<unknown>
  readonly retry: () => Promise<unknown>
  readonly approve: (body: Schemas['UpgradeApprovalCreate']) => Promise<unknown>
}

interface ApplianceActionsProps {
  readonly upgrade: Parameters<typeof standingOf>[0] & Pick<ApplianceUpgrade, 'counts' | 'awaited' | 'end_time'>
  /** The open phase; undefined: it is not known yet, so that nobody can approve it. */
  readonly phase: number | undefined
  /** The gate at which the upgrade waits; undefined: it waits at none, or it is not known yet. */
  readonly gate: Gate | undefined
  /** True if the person can't give the approval that it waits for. */
  readonly isBarred: boolean
  readonly calls: ApplianceCalls
  readonly onDone: () => Promise<void>
}

/** The possible actions on an upgrade of appliances, at whatever place; each button states its effect. */
export function ApplianceActions({ upgrade, phase: open, gate, isBarred, calls, onDone }: ApplianceActionsProps) {
  const standing = standingOf(upgrade)
  const { hold } = standing
  const zone = useTextZone()
  const [note, setNote] = useState('')
  const phase = isBeforeStart(hold) ? 0 : open
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
      actions={actionsOf({ ...standing, failed, awaited, endTime, isBarred: isBarred || open === undefined })}
      onDone={onDone}
      offers={{
        pause: { title: 'Pause', effect: pauseEffect(waiting, going), run: () => calls.change('pause') },
        resume: {
          title: 'Resume',
          effect: resumeEffect(waiting, hold, gate, zone),
          run: () => calls.change('resume'),
        },
        approve: {
          title: phase === 0 ? 'Approve the start' : `Approve phase ${phase}`,
          effect: continueEffect(waiting, hold, gate, zone),
          fields: <NoteField note={note} onChange={setNote} maxLength={MAX_APPROVAL_NOTE} />,
          onOpen: () => setNote(''),
          run: () => calls.approve({ phase: phase ?? 0, ...noteOf(note) }),
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
