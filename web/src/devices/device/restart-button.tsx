import { NativeSelect } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import type { Report } from '../report.ts'
import type { DeviceStats } from '../use-live-devices.ts'
import { restartEffect } from './restart-effect.ts'

interface RestartButtonProps {
  readonly stats: DeviceStats
  readonly report: Report
  readonly siteId: string
}

const nodes = ['node0', 'node1'] as const

/** Restarts the device, one member of a Virtual Chassis, or one node of a cluster. */
export function RestartButton({ stats, report, siteId }: RestartButtonProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const [part, setPart] = useState('')
  const members = stats.type === 'switch' ? report.members.map(({ index }) => index) : []
  const parts = partsOf(stats, members)
  const run = async (): Promise<void> => {
    await answerOf(
      api.POST('/api/v1/sites/{site_id}/devices/{device_id}/restart', {
        params: { path: { site_id: siteId, device_id: stats.id } },
        body: bodyOf(part),
      }),
    )
    await queries.invalidateQueries({ queryKey: ['device commands', stats.id] })
  }
  return (
    <ConfirmButton
      action="Restart"
      isDestructive
      run={run}
      effect={restartEffect(stats, { clients: report.clients, members: members.length, part })}
      fields={
        parts.length > 0 && (
          <NativeSelect
            label="What to restart"
            value={part}
            data={[
              { value: '', label: members.length > 1 ? `All ${members.length} members` : 'The whole device' },
              ...parts,
            ]}
            onChange={({ currentTarget: { value } }) => setPart(value)}
          />
        )
      }
    />
  )
}

/** The parts that the device can restart alone. A switch may leave open which of its members it can. */
function partsOf({ capabilities }: DeviceStats, members: readonly number[]) {
  const alone = capabilities?.restart_members ?? members
  return [
    ...(alone.length > 1 ? alone.map((member) => ({ value: String(member), label: `Only member ${member}` })) : []),
    ...(capabilities?.restart_nodes ?? []).map((node) => ({ value: node, label: `Only ${node} of the cluster` })),
  ]
}

function bodyOf(part: string) {
  const node = nodes.find((name) => name === part)
  if (node !== undefined) return { node }
  return part === '' ? {} : { member: Number(part) }
}
