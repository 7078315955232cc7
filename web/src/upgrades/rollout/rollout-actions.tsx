import { useState } from 'react'
import { useServer } from '../../api/client.ts'
import { noteOf } from '../note-of.ts'
import { counted } from '../../display/texts/counted.ts'
import { useTextZone } from '../../display/times/text-zone.ts'
import { type Upgrade, awaitedOf, countsOf, isRunning, waitingStates } from '../upgrade.ts'
import { kinds } from '../overview.ts'
import { ActionButtons, type Offer } from '../action-buttons.tsx'
import { type UpgradePlace, approveUpgrade, changeUpgrade, retryUpgrade } from '../calls.ts'
import { MAX_APPROVAL_NOTE, NoteField } from '../note-field.tsx'
import { approvalEffect, pauseEffect, resumeEffect, retryEffect, sharedEffect, startEffect } from '../effects.ts'
import {
  type Action,
  type State,
  actionsOf,
  heldGateOf,
  heldPhaseOf,
  isBeforeStart,
  stopWaitingEffect,
} from '../verdict.ts'

interface RolloutActionsProps {
  readonly place: UpgradePlace
  readonly state: State
  readonly counts: Upgrade
  /** True if the person can't give the approval that it waits for. */
  readonly isBarred: boolean
  readonly onDone: () => Promise<void>
}

/** The possible actions on the upgrade; each button states its effect. */
export function RolloutActions({ place, state, counts: upgrade, isBarred, onDone }: RolloutActionsProps) {
  const { report, hold } = state
  const { api } = useServer()
  const [note, setNote] = useState('')
  const zone = useTextZone()
  const counts = countsOf(upgrade)
  const countOf = (...statuses: readonly Parameters<typeof counts.get>[0][]): number =>
    statuses.reduce((sum, status) => sum + (counts.get(status) ?? 0), 0)
  const waiting = countOf(...waitingStates)
  const underWay = countOf('reboot_in_progress', 'rebooted')
  const held = heldPhaseOf(report, hold)
  const beforeStart = isBeforeStart(hold)
  const { unit } = kinds[place.kind]
  const awaited = awaitedOf(upgrade)
  const going =
    underWay === 0 ? null : `${counted(underWay, `rebooting ${unit} finishes`, `rebooting ${unit}s finish`)}.`
  const waitingSites = upgrade.upgrades.filter(({ upgrade: { targets } }) =>
    waitingStates.some((state) => targets[state].length > 0),
  ).length
  const offers: Readonly<Record<Action, Offer>> = {
    pause: {
      title: 'Pause',
      effect: pauseEffect(counted(waiting, unit), going),
      run: () => changeUpgrade(api, place, 'pause'),
    },
    resume: {
      title: 'Resume',
      effect: resumeEffect(counted(waiting, unit), hold, heldGateOf(report, hold), zone),
      run: () => changeUpgrade(api, place, 'resume'),
    },
    approve: {
      title: beforeStart ? 'Approve the start' : `Approve ${held.words} ${held.phase}`,
      effect: sharedEffect(
        beforeStart ? startEffect(report, waiting, unit) : approvalEffect(held, waiting, zone),
        hold,
      ),
      fields: <NoteField note={note} onChange={setNote} maxLength={MAX_APPROVAL_NOTE} />,
      onOpen: () => setNote(''),
      run: () =>
        approveUpgrade(api, place, {
          phase: beforeStart ? 0 : held.phase,
          ...(hold?.phase_of !== undefined && { phase_of: hold.phase_of }),
          ...noteOf(note),
        }),
    },
    cancel: {
      title: 'Cancel the upgrade',
      isDestructive: true,
      effect: {
        does: 'Cancels the upgrade of',
        counts: [{ count: waiting, one: unit }],
        sites: waitingSites,
        consequences: [
          'They keep their present firmware.',
          ...(going === null ? [] : [going]),
          `${counted(report.upgraded, `${unit} stays`, `${unit}s stay`)} upgraded.`,
        ],
        isFinal: true,
      },
      run: () => changeUpgrade(api, place, 'cancel'),
    },
    retry: {
      title: 'Retry',
      effect: retryEffect(report.failed, unit, isRunning(report.status) ? 0 : countOf('cancelled')),
      run: () => retryUpgrade(api, place),
    },
    stopWaiting: {
      title: 'Stop waiting',
      effect: stopWaitingEffect(awaited, unit),
      run: () => changeUpgrade(api, place, 'cancel'),
    },
  }
  const { status, failed, end_time: endTime } = report
  const actions = actionsOf({ ...state, status, failed, awaited, isBarred, endTime })
  return <ActionButtons actions={actions} offers={offers} onDone={onDone} />
}
