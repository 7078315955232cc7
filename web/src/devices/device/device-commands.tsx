import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type Schemas, answerOf, pageOf, useServer } from '../../api/client.ts'
import { commandWords } from '../command-words.ts'
import { causeText } from '../../display/texts/cause-text.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { SiteTime } from '../../display/times/time.tsx'
import { Row, RowName, RowSummary } from '../../display/layout/row.tsx'

type Command = Schemas['DeviceCommand']

/** The interval at which the steps of a running command are read; the stream reports only its end. */
const OPEN_MS = 1000
const SHOWN = 10

interface DeviceCommandsProps {
  readonly siteId: string
  readonly deviceId: string
  readonly zone: string | undefined
}

/** The commands of people and upgrades, with their life. */
export function DeviceCommands({ siteId, deviceId, zone }: DeviceCommandsProps) {
  const query = useCommands(siteId, deviceId)
  return (
    <Panel title="Commands" aside={query.data === undefined ? undefined : query.data.total}>
      <QueryView query={query}>
        {({ rows }) =>
          rows.length === 0 ? (
            <EmptyState title="No commands yet">Restarts and the steps of upgrades appear here.</EmptyState>
          ) : (
            <ol className="log">
              {rows.map((command) => (
                <CommandLine key={command.id} siteId={siteId} command={command} zone={zone} />
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}

interface CommandLineProps {
  readonly siteId: string
  readonly command: Command
  readonly zone: string | undefined
}

function CommandLine({ siteId, command, zone }: CommandLineProps) {
  const { tone, text } = commandWords[command.status]
  return (
    <Row>
      <div className="log-head">
        <span className="log-what">{commandText(command)}</span>
        <StateMark tone={tone}>{text}</StateMark>
      </div>
      {command.reason !== undefined && <p>{causeText(command.reason, zone)}</p>}
      <p>
        <RowName>
          <SiteTime at={command.created_time} zone={zone} />
        </RowName>
        {command.upgrade_id !== undefined && ' · by an upgrade'}
        {command.finished_time !== undefined &&
          ` · took ${Math.max(0, command.finished_time - command.created_time).toFixed(1)} s`}
      </p>
      {command.kind === 'ping' && command.status === 'done' && <CommandOutput siteId={siteId} command={command} />}
    </Row>
  )
}

/** Names the single member or node that a command is for. */
function commandText({ kind, params: { member, node } }: Command): string {
  const part = typeof node === 'string' ? ` ${node}` : typeof member === 'number' ? ` member ${member}` : ''
  return `${kind.replaceAll('_', ' ')}${part}`
}

/** The output of the device, read on demand. */
function CommandOutput({ siteId, command }: Omit<CommandLineProps, 'zone'>) {
  const { api } = useServer()
  const [isOpen, setOpen] = useState(false)
  const query = useQuery({
    queryKey: ['device command', command.id],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/sites/{site_id}/devices/{device_id}/commands/{command_id}', {
          params: { path: { site_id: siteId, device_id: command.device_id, command_id: command.id } },
        }),
      ),
    enabled: isOpen,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <details className="exchange" onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <RowSummary>Output</RowSummary>
      {isOpen && (
        <QueryView query={query} rows={2}>
          {({ output = '' }) => (
            <pre tabIndex={0} role="region" aria-label="Output of the command">
              {output}
            </pre>
          )}
        </QueryView>
      )}
    </details>
  )
}

function useCommands(siteId: string, deviceId: string) {
  const { api, stream } = useServer()
  const queries = useQueryClient()
  useEffect(() => {
    const refresh = (): void => void queries.invalidateQueries({ queryKey: ['device commands', deviceId] })
    const listener = { onData: refresh, onGap: refresh, onSubscribed: refresh }
    return stream.subscribe(`/sites/${siteId}/devices/${deviceId}/cmd`, listener)
  }, [deviceId, queries, siteId, stream])
  return useQuery({
    queryKey: ['device commands', deviceId],
    queryFn: () =>
      pageOf(
        api.GET('/api/v1/sites/{site_id}/devices/{device_id}/commands', {
          params: { path: { site_id: siteId, device_id: deviceId }, query: { limit: SHOWN } },
        }),
      ),
    refetchInterval: ({ state: { data } }) =>
      data?.rows.some(({ status }) => status === 'queued' || status === 'sent') === true ? OPEN_MS : false,
  })
}
