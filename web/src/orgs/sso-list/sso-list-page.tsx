import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { RequestForm } from '../../display/forms/request-form.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { RolePanel } from './role-panel.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/sso')

/** The identity providers that sign people in, and what they may then do. */
export function SsoListPage() {
  const { orgId } = route.useParams()
  const mayChange = useMay('admin', { orgId })
  return (
    <>
      <PageTitle
        title="Single sign-on"
        call={`/orgs/${orgId}/ssos`}
        above={
          <Link to="/orgs/$orgId/people" params={{ orgId }}>
            People
          </Link>
        }
      />
      <div className="columns">
        <ProviderPanel orgId={orgId} mayChange={mayChange} />
        <RolePanel orgId={orgId} mayChange={mayChange} />
      </div>
    </>
  )
}

interface ProviderPanelProps {
  readonly orgId: string
  readonly mayChange: boolean
}

function ProviderPanel({ orgId, mayChange }: ProviderPanelProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const query = useQuery({
    queryKey: ['ssos', orgId],
    queryFn: () => answerOf(api.GET('/api/v1/orgs/{org_id}/ssos', { params: { path: { org_id: orgId } } })),
  })
  return (
    <Panel title="Identity providers" aside={query.data?.length}>
      <QueryView query={query} rows={2}>
        {(ssos) =>
          ssos.length === 0 ? (
            <EmptyState title="No identity provider yet">
              {mayChange
                ? 'Add one to get the URLs for its configuration.'
                : 'An admin of the organization can add one.'}
            </EmptyState>
          ) : (
            <ol className="log">
              {ssos.map((sso) => (
                <li key={sso.id} className="image-line">
                  <Link to="/orgs/$orgId/sso/$ssoId" params={{ orgId, ssoId: sso.id }}>
                    {sso.name}
                  </Link>
                  <SsoState sso={sso} />
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
      {mayChange && (
        <RequestForm
          fields={[{ name: 'name', label: 'Name of a new provider', required: true }]}
          action="Add the provider"
          run={async ({ name = '' }) => {
            const params = { path: { org_id: orgId } }
            const { id } = await answerOf(api.POST('/api/v1/orgs/{org_id}/ssos', { params, body: { name } }))
            await queries.invalidateQueries({ queryKey: ['ssos', orgId] })
            await navigate({ to: '/orgs/$orgId/sso/$ssoId', params: { orgId, ssoId: id } })
          }}
        />
      )}
    </Panel>
  )
}

function SsoState({ sso: { idp_type: type = 'saml', ...sso } }: { readonly sso: Schemas['Sso'] }) {
  if (type !== 'saml') return <StateMark tone="idle">Not for sign-in</StateMark>
  const isComplete = [sso.issuer, sso.idp_cert, sso.idp_sso_url].every((value) => value !== undefined && value !== '')
  return isComplete ? <StateMark tone="good">Set up</StateMark> : <StateMark tone="warn">Incomplete</StateMark>
}
