import { NativeSelect } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/confirm-button.tsx'
import { counted } from '../../display/counted.ts'
import type { Report } from '../report.ts'
import type { DeviceStats } from '../use-live-devices.ts'

interface RestartButtonProps {
  readonly stats: DeviceStats
  readonly report: Report
  readonly siteId: string
}

/** Restarts the device, or one member of a Virtual Chassis. */
export function RestartButton({ stats, report, siteId }: RestartButtonProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const [part, setPart] = useState('')
  const members = stats.type === 'switch' ? report.members.map(({ index }) => index) : []
  const run = async (): Promise<void> => {
    await answerOf(
      api.POST('/api/v1/sites/{site_id}/devices/{device_id}/restart', {
        params: { path: { site_id: siteId, device_id: stats.id } },
        body: part === '' ? {} : { member: Number(part) },
      }),
    )
    await queries.invalidateQueries({ queryKey: ['device commands', stats.id] })
  }
  return (
    <ConfirmButton
      action="Restart"
      isDestructive
      run={run}
      effect={effectOf(stats, { clients: report.clients, members: members.length, member: part })}
      fields={
        members.length > 1 && (
          <NativeSelect
            label="What to restart"
            value={part}
            data={[
              { value: '', label: `All ${members.length} members` },
              ...members.map((member) => ({ value: String(member), label: `Only member ${member}` })),
            ]}
            onChange={({ currentTarget: { value } }) => setPart(value)}
          />
        )
      }
    />
  )
}

interface Cut {
  readonly clients: number | null
  readonly members: number
  /** Empty for the whole device. */
  readonly member: string
}

function effectOf({ name, mac }: DeviceStats, { clients, members, member }: Cut): string {
  const what = name === '' ? mac : name
  if (member !== '') return `Restarts member ${member} of ${what}. The other members keep running.`
  const all = members > 1 ? ` with its ${members} members` : ''
  const cut = clients === null || clients === 0 ? '' : `, and disconnects its ${counted(clients, 'client')}`
  return `Restarts ${what}${all}${cut}. It is away until it has started again, usually for some minutes.`
}
