import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { Ago, ViewerTime } from '../../display/times/time.tsx'
import { browserOf } from './user-agent.ts'
import { Row, RowName } from '../../display/layout/row.tsx'

type Session = Schemas['LoginSession']

const KEY = ['login sessions']

export function useSessions() {
  const { api } = useServer()
  return useQuery({ queryKey: KEY, queryFn: () => answerOf(api.GET('/api/v1/self/sessions')) })
}

/** Where the person is signed in. */
export function SessionPanel() {
  const { api } = useServer()
  const queries = useQueryClient()
  const query = useSessions()
  const others = query.data?.filter(({ current }) => !current).length ?? 0
  return (
    <Panel title="Sessions" aside={query.data?.length}>
      <QueryView query={query} rows={2}>
        {(sessions) => (
          <ol className="log">
            {sessions.map((session) => (
              <SessionLine key={session.id} session={session} />
            ))}
          </ol>
        )}
      </QueryView>
      {others > 0 && (
        <p className="panel-buttons">
          <ConfirmButton
            action="End all others"
            isDestructive
            effect={{
              does: 'Signs you out of',
              counts: [{ count: others, one: 'other browser' }],
              consequences: ['This one stays signed in.'],
            }}
            run={async () => {
              await answerOf(api.DELETE('/api/v1/self/sessions'))
              await queries.invalidateQueries({ queryKey: KEY })
            }}
          />
        </p>
      )}
    </Panel>
  )
}

function SessionLine({ session }: { readonly session: Session }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const {
    id,
    current,
    via_sso: bySso,
    created_time: createdAt,
    last_seen: seenAt,
    src_ip: ip,
    user_agent: agent,
  } = session
  const browser = browserOf(agent)
  return (
    <Row className="image-line">
      <RowName as="div">
        <p className="image-uses" title={agent}>
          {browser} {ip !== undefined && <span className="mono muted">{ip}</span>}
        </p>
        <p>
          since <ViewerTime at={createdAt} />
          {bySso && ', by the identity provider'}
          {seenAt !== undefined && !current && ', used '}
          {seenAt !== undefined && !current && <Ago at={seenAt} />}
        </p>
      </RowName>
      {current ? (
        <StateMark tone="good">This browser</StateMark>
      ) : (
        <ConfirmButton
          action="End"
          isDestructive
          effect={{
            does: 'Signs you out of',
            counts: [{ count: 1, one: 'browser' }],
            name: `${browser}${ip === undefined ? '' : ` at ${ip}`}`,
          }}
          run={async () => {
            await answerOf(api.DELETE('/api/v1/self/sessions/{session_id}', { params: { path: { session_id: id } } }))
            await queries.invalidateQueries({ queryKey: KEY })
          }}
        />
      )}
    </Row>
  )
}
