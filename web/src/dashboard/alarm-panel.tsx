import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../display/forms/button.tsx'
import { ConfirmButton } from '../display/forms/confirm-button.tsx'
import { useMay } from '../accounts/self.ts'
import { type Schemas, answerOf, useServer } from '../api/client.ts'
import { EmptyState, ProblemNote } from '../display/layout/notices.tsx'
import { Panel } from '../display/layout/panel.tsx'
import { QueryView } from '../display/layout/query-view.tsx'
import { localText } from '../display/times/local-text.ts'
import { useTextZone } from '../display/times/text-zone.ts'
import { StateMark } from '../display/state-mark.tsx'
import { grouped } from '../display/texts/counted.ts'
import { showText } from '../display/texts/show-text.ts'
import { Ago } from '../display/times/time.tsx'
import type { Tone } from '../display/tone.ts'
import { NoteField } from '../upgrades/note-field.tsx'
import { type AlarmChoice, SHOWN, alarmChoiceNames, alarmChoices, nextLimit } from './alarm-choices.ts'
import { type DashboardPlace, OVERVIEW_MS } from './use-counts.ts'
import { Row, RowButton, RowName } from '../display/layout/row.tsx'

type Alarm = Schemas['Alarm']

const severities: Readonly<Record<Alarm['severity'], string>> = {
  critical: 'Critical',
  warn: 'Warning',
  info: 'Information',
}

const tones: Readonly<Record<Alarm['severity'], Tone>> = { critical: 'bad', warn: 'warn', info: 'idle' }

/** The alarms of a week, the latest first, and those that are open. People acknowledge them. */
export function AlarmPanel({ orgId, siteId }: DashboardPlace) {
  const { api } = useServer()
  const [choice, setChoice] = useState<AlarmChoice>('open')
  const [limit, setLimit] = useState(SHOWN)
  const latest = { duration: '7d', limit, ...alarmChoices[choice].query }
  const query = useQuery({
    queryKey: ['alarms', orgId, siteId, choice, limit],
    queryFn: () =>
      siteId === undefined
        ? answerOf(
            api.GET('/api/v1/orgs/{org_id}/alarms/search', { params: { path: { org_id: orgId }, query: latest } }),
          )
        : answerOf(
            api.GET('/api/v1/sites/{site_id}/alarms/search', { params: { path: { site_id: siteId }, query: latest } }),
          ),
    refetchInterval: OVERVIEW_MS,
    placeholderData: keepPreviousData,
  })
  return (
    <Panel title="Alarms" aside={query.data && grouped(query.data.total)}>
      <AlarmChips
        chosen={choice}
        onChoose={(chosen) => {
          setChoice(chosen)
          setLimit(SHOWN)
        }}
      />
      <QueryView query={query}>
        {({ results, total }) =>
          results.length === 0 ? (
            <EmptyState title={alarmChoices[choice].empty} />
          ) : (
            <>
              <ol className="log">
                {results.map((alarm) => (
                  <AlarmRow key={alarm.id} orgId={orgId} alarm={alarm} />
                ))}
              </ol>
              {total > results.length && nextLimit(limit) !== null && (
                <p className="panel-buttons">
                  <Button
                    variant="default"
                    size="xs"
                    isBusy={query.isPlaceholderData}
                    onClick={() => setLimit(nextLimit(limit) ?? limit)}
                  >
                    {showText(nextLimit(limit) ?? limit, total)}
                  </Button>
                </p>
              )}
            </>
          )
        }
      </QueryView>
    </Panel>
  )
}

interface AlarmChipsProps {
  readonly chosen: AlarmChoice
  readonly onChoose: (choice: AlarmChoice) => void
}

function AlarmChips({ chosen, onChoose }: AlarmChipsProps) {
  return (
    <div className="chips" role="group" aria-label="Alarms by state">
      {alarmChoiceNames.map((name) => (
        <button
          key={name}
          type="button"
          className="chip"
          aria-pressed={name === chosen}
          {...(name === chosen && { 'data-current': '' })}
          onClick={() => onChoose(name)}
        >
          {alarmChoices[name].text}
        </button>
      ))}
    </div>
  )
}

function AlarmRow({ orgId, alarm }: { readonly orgId: string; readonly alarm: Alarm }) {
  const { severity, status, acked, last_seen: lastSeen, site_id: siteId } = alarm
  const mayAck = useMay('operate', { orgId, ...(siteId !== undefined && { siteId }) })
  const ack = useAck(orgId, alarm)
  return (
    <Row>
      <div className="log-head">
        <StateMark tone={status === 'open' ? tones[severity] : 'good'}>
          {status === 'open' ? severities[severity] : 'Resolved'}
        </StateMark>
        <Ago at={lastSeen} />
      </div>
      <p>
        <RowName>
          <AlarmText orgId={orgId} alarm={alarm} />
        </RowName>
      </p>
      <p className="alarm-ack">
        {acked && <span>{ackText(alarm)}</span>}
        {mayAck && (
          <>
            <RowButton isBusy={ack.isPending} onClick={() => ack.mutate()}>
              {acked ? 'Take back' : 'Acknowledge'}
            </RowButton>
            <NoteButton orgId={orgId} alarm={alarm} />
          </>
        )}
      </p>
      <ProblemNote problem={ack.error} />
    </Row>
  )
}

/** As many characters as the note of an acknowledgment may have. */
const MAX_NOTE = 500

/** Acknowledges the alarm with a note, or changes the note. */
function NoteButton({ orgId, alarm }: { readonly orgId: string; readonly alarm: Alarm }) {
  const { id, acked, note: stored = '' } = alarm
  const { api } = useServer()
  const queries = useQueryClient()
  const [note, setNote] = useState('')
  return (
    <ConfirmButton
      action={acked ? 'Change the note' : 'Acknowledge with a note'}
      isQuiet
      effect="Others read the note at the alarm and in the audit log, with your name."
      fields={<NoteField note={note} onChange={setNote} maxLength={MAX_NOTE} />}
      onOpen={() => setNote(stored)}
      run={async () => {
        const params = { path: { org_id: orgId, alarm_id: id } }
        await answerOf(api.POST('/api/v1/orgs/{org_id}/alarms/{alarm_id}/ack', { params, body: { note } }))
        await queries.invalidateQueries({ queryKey: ['alarms', orgId] })
      }}
    />
  )
}

/** Leads to the upgrade or the webhook that it is about. */
function AlarmText({ orgId, alarm }: { readonly orgId: string; readonly alarm: Alarm }) {
  const { upgrade_id: upgradeId, webhook_id: webhookId, site_id: site } = alarm
  const text = localText(alarm.text, useTextZone())
  if (upgradeId !== undefined)
    return (
      <Link to="/orgs/$orgId/upgrades/$upgradeId" params={{ orgId, upgradeId }}>
        {text}
      </Link>
    )
  if (webhookId === undefined) return text
  return (
    <Link
      to="/orgs/$orgId/webhooks/$webhookId"
      params={{ orgId, webhookId }}
      search={site === undefined ? {} : { site }}
    >
      {text}
    </Link>
  )
}

/** Acknowledges the alarm, or takes that back. */
function useAck(orgId: string, { id, acked }: Alarm) {
  const { api } = useServer()
  const queries = useQueryClient()
  const params = { path: { org_id: orgId, alarm_id: id } }
  return useMutation({
    mutationFn: () =>
      acked
        ? answerOf(api.POST('/api/v1/orgs/{org_id}/alarms/{alarm_id}/unack', { params, body: {} }))
        : answerOf(api.POST('/api/v1/orgs/{org_id}/alarms/{alarm_id}/ack', { params, body: {} })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['alarms', orgId] }),
  })
}

function ackText({ ack_admin_name: name, note }: Alarm): string {
  const by = name === undefined ? 'Acknowledged' : `Acknowledged by ${name}`
  return note === undefined || note === '' ? by : `${by}: ${note}`
}
