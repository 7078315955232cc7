import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { RequestForm } from '../../display/forms/request-form.tsx'
import { Ago, ViewerTime } from '../../display/times/time.tsx'
import { proofField, withoutEmpty } from './proof.ts'
import { Row, RowName } from '../../display/layout/row.tsx'

type Token = Schemas['ApiToken']

const KEY = ['api tokens']

export function useTokens() {
  const { api } = useServer()
  return useQuery({ queryKey: KEY, queryFn: () => answerOf(api.GET('/api/v1/self/apitokens')) })
}

/** The tokens by which programs act as this person. */
export function TokenPanel() {
  const { api } = useServer()
  const queries = useQueryClient()
  const [created, setCreated] = useState<Token | null>(null)
  const query = useTokens()
  return (
    <Panel title="API tokens" aside={query.data?.length}>
      <QueryView query={query}>
        {(tokens) =>
          tokens.length === 0 ? (
            <EmptyState title="No tokens">A program that calls the API sends one with each request.</EmptyState>
          ) : (
            <ol className="log">
              {tokens.map((token) => (
                <TokenLine key={token.id} token={token} />
              ))}
            </ol>
          )
        }
      </QueryView>
      {created !== null && (
        <div className="plan-line" role="status">
          <p>This is the token {created.name}. It is not shown again.</p>
          <pre className="once">{created.key}</pre>
        </div>
      )}
      <RequestForm
        fields={[{ name: 'name', label: 'Name of a new token', required: true }, proofField]}
        action="Create the token"
        run={async (values) => {
          setCreated(await answerOf(api.POST('/api/v1/self/apitokens', { body: withoutEmpty(values) })))
          await queries.invalidateQueries({ queryKey: KEY })
        }}
      />
    </Panel>
  )
}

function TokenLine({
  token: { id, name, key, created_time: createdAt, last_used: usedAt },
}: {
  readonly token: Token
}) {
  const { api } = useServer()
  const queries = useQueryClient()
  return (
    <Row className="image-line">
      <div>
        <p className="image-uses">
          <RowName>
            {name} <span className="mono muted">{key}</span>
          </RowName>
        </p>
        <p>
          since <ViewerTime at={createdAt} />, {usedAt === null ? 'never used' : 'used '}
          {usedAt !== null && <Ago at={usedAt} />}
        </p>
      </div>
      <ConfirmButton
        action="Revoke"
        isDestructive
        effect={{
          does: 'Revokes',
          counts: [{ count: 1, one: 'token' }],
          name,
          consequences: ['Programs that use it are refused at once.'],
          isFinal: true,
        }}
        run={async () => {
          const params = { path: { apitoken_id: id } }
          await answerOf(api.DELETE('/api/v1/self/apitokens/{apitoken_id}', { params }))
          await queries.invalidateQueries({ queryKey: KEY })
        }}
      />
    </Row>
  )
}
