import { TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { counted } from '../../display/counted.ts'
import { ConfirmButton } from '../../display/confirm-button.tsx'
import { type Hold, type Report, type Upgrade, countsOf } from '../upgrade.ts'
import { type Action, actionsOf, openPhaseOf } from './verdict.ts'

export interface UpgradePlace {
  readonly orgId: string
  readonly upgradeId: string
}

interface RolloutActionsProps {
  readonly place: UpgradePlace
  readonly report: Report
  readonly hold: Hold | null
  readonly counts: Upgrade
  readonly onDone: () => Promise<void>
}

interface Offer {
  readonly title: string
  readonly effect: string
  readonly fields?: ReactNode
  readonly isDestructive?: boolean
  readonly run: () => Promise<unknown>
}

/** The possible actions on the upgrade; each button states its effect. */
export function RolloutActions({ place, report, hold, counts: upgrade, onDone }: RolloutActionsProps) {
  const { api } = useServer()
  const [note, setNote] = useState('')
  const params = { path: { org_id: place.orgId, upgrade_id: place.upgradeId } }
  const counts = countsOf(upgrade)
  const countOf = (...statuses: readonly Parameters<typeof counts.get>[0][]): number =>
    statuses.reduce((sum, status) => sum + (counts.get(status) ?? 0), 0)
  const waiting = countOf('scheduled', 'download_requested', 'downloading', 'downloaded')
  const underWay = countOf('reboot_in_progress', 'rebooted')
  const phase = openPhaseOf(report) ?? 1
  const going = underWay === 0 ? '' : ` ${counted(underWay, 'device')} that reboot now will finish.`
  const offers: Readonly<Record<Action, Offer>> = {
    pause: {
      title: 'Pause',
      effect: `No further commands are sent to the ${counted(waiting, 'device')} still to be upgraded, until somebody resumes the upgrade.${going}`,
      run: () => answerOf(api.POST('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}/pause', { params })),
    },
    resume: {
      title: 'Resume',
      effect:
        hold?.by === 'user'
          ? `The upgrade continues with the ${counted(waiting, 'device')} still to be upgraded.`
          : `The upgrade waits: ${hold?.reason ?? ''}. Resuming opens the next phase all the same, for up to ${counted(waiting, 'device')}.`,
      run: () => answerOf(api.POST('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}/resume', { params })),
    },
    approve: {
      title: `Approve phase ${phase}`,
      effect: `Opens the next phase: ${counted(report.phases.find((next) => next.phase === phase + 1)?.total ?? waiting, 'device')}.`,
      fields: (
        <TextInput
          label="Note for the record"
          value={note}
          onChange={({ currentTarget: { value } }) => setNote(value)}
          maxLength={1000}
        />
      ),
      run: () =>
        answerOf(
          api.POST('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}/approve', {
            params,
            body: { phase, ...(note !== '' && { note }) },
          }),
        ),
    },
    cancel: {
      title: 'Cancel the upgrade',
      isDestructive: true,
      effect: `${counted(waiting, 'device')} will keep the present firmware.${going} ${counted(report.upgraded, 'device')} already upgraded stay so. This cannot be undone.`,
      run: () => answerOf(api.POST('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}/cancel', { params })),
    },
    retry: {
      title: 'Retry',
      effect: `Upgrades and restarts the ${counted(report.failed, 'failed device')} again.`,
      run: () => answerOf(api.POST('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}/retry', { params, body: {} })),
    },
  }
  return actionsOf({ report, hold }).map((action) => {
    const { title, effect, fields, isDestructive = false, run } = offers[action]
    return (
      <ConfirmButton
        key={action}
        action={title}
        effect={effect}
        fields={fields}
        isDestructive={isDestructive}
        run={async () => {
          await run()
          await onDone()
        }}
      />
    )
  })
}
