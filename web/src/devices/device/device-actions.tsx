import { NumberInput, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton, FieldRefusal } from '../../display/forms/confirm-button.tsx'
import { counted } from '../../display/texts/counted.ts'
import type { Report } from '../report.ts'
import type { DeviceStats } from '../use-live-devices.ts'
import { clientText, nameOf, restartOf } from './restart-effect.ts'
import { RestartButton } from './restart-button.tsx'

interface DeviceActionsProps {
  readonly stats: DeviceStats
  readonly report: Report
  readonly siteId: string
}

/** The actions that a connected device offers: the commands that it reports as supported. */
export function DeviceActions(props: DeviceActionsProps) {
  const can = (command: string): boolean => props.stats.capabilities?.commands.includes(command) === true
  return (
    <>
      {can('locate') && <LocateButton {...props} />}
      {can('ping') && <PingButton {...props} />}
      {can('support') && <SupportButton {...props} />}
      {can('restore_backup') && <RestoreButton {...props} />}
      {can('restart') && <RestartButton {...props} />}
    </>
  )
}

/** Reads the commands again after a further one. */
function useRefresh(deviceId: string): () => Promise<void> {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: ['device commands', deviceId] })
}

const DEFAULT_MINUTES = 5

function LocateButton({ stats, siteId }: DeviceActionsProps) {
  const { api } = useServer()
  const refresh = useRefresh(stats.id)
  const [minutes, setMinutes] = useState<number | string>(DEFAULT_MINUTES)
  const params = { path: { site_id: siteId, device_id: stats.id } }
  return (
    <ConfirmButton
      action="Locate"
      fieldNames={['duration']}
      effect={`The LEDs of ${nameOf(stats)} blink, so that somebody at the site finds it. Its clients notice nothing.`}
      fields={
        <FieldRefusal name="duration">
          {(error) => (
            <NumberInput
              label="Minutes"
              min={1}
              max={120}
              value={minutes}
              error={error}
              onChange={setMinutes}
              hideControls
            />
          )}
        </FieldRefusal>
      }
      run={async () => {
        const body = { duration: Number(minutes) }
        await answerOf(api.POST('/api/v1/sites/{site_id}/devices/{device_id}/locate', { params, body }))
        await refresh()
      }}
    />
  )
}

const PINGS = 10

function PingButton({ stats, siteId }: DeviceActionsProps) {
  const { api } = useServer()
  const refresh = useRefresh(stats.id)
  const [host, setHost] = useState('')
  return (
    <ConfirmButton
      action="Ping"
      effect={`${nameOf(stats)} sends ${counted(PINGS, 'ping')}. What comes back appears among its commands.`}
      fieldNames={['host']}
      fields={
        <FieldRefusal name="host">
          {(error) => (
            <TextInput
              label="Address or name of a host"
              value={host}
              error={error}
              onChange={({ currentTarget: { value } }) => setHost(value)}
            />
          )}
        </FieldRefusal>
      }
      run={async () => {
        const params = { path: { site_id: siteId, device_id: stats.id } }
        const body = { host, count: PINGS }
        await answerOf(api.POST('/api/v1/sites/{site_id}/devices/{device_id}/ping', { params, body }))
        await refresh()
      }}
    />
  )
}

function SupportButton({ stats, siteId }: DeviceActionsProps) {
  const { api } = useServer()
  const refresh = useRefresh(stats.id)
  return (
    <ConfirmButton
      action="Collect support files"
      effect={`${nameOf(stats)} collects its logs and its state, and uploads them. They may contain passwords, so only admins read them.`}
      run={async () => {
        const params = { path: { site_id: siteId, device_id: stats.id } }
        await answerOf(api.POST('/api/v1/sites/{site_id}/devices/{device_id}/support', { params, body: {} }))
        await refresh()
      }}
    />
  )
}

/** Not every device reports the version that it returns to. */
function formerOf({ capabilities }: DeviceStats): string {
  return capabilities?.backup_version ?? 'the firmware that it ran before'
}

function RestoreButton({ stats, report: { members, clients }, siteId }: DeviceActionsProps) {
  const { api } = useServer()
  const refresh = useRefresh(stats.id)
  return (
    <ConfirmButton
      action="Restore the firmware"
      isDestructive
      effect={{
        ...restartOf(stats, { clients, members: members.length }),
        consequences: [
          clientText(clients),
          `It starts with ${formerOf(stats)} instead of ${stats.version ?? 'the present firmware'}, and is away for some minutes.`,
        ],
      }}
      run={async () => {
        const params = { path: { site_id: siteId, device_id: stats.id } }
        await answerOf(api.POST('/api/v1/sites/{site_id}/devices/{device_id}/restore_backup_version', { params }))
        await refresh()
      }}
    />
  )
}
