import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { answerOf, useServer } from '../../api/client.ts'
import { counted } from '../../display/texts/counted.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { EmptyState } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { ViewerTime } from '../../display/times/time.tsx'
import { useAdmins } from '../use-admins.ts'
import { RemovalPanel } from './removal-panel.tsx'
import type { Sso } from './sso-fields.ts'
import { SsoForm } from './sso-form.tsx'
import { Row, RowName, RowSummary } from '../../display/layout/row.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/sso/$ssoId')

/** One identity provider: what it needs of us, what we need of it, and whom it could not sign in. */
export function SsoPage() {
  const { orgId, ssoId } = route.useParams()
  const { api } = useServer()
  const mayChange = useMay('admin', { orgId })
  const query = useQuery({
    queryKey: ['sso', ssoId],
    queryFn: () =>
      answerOf(api.GET('/api/v1/orgs/{org_id}/ssos/{sso_id}', { params: { path: { org_id: orgId, sso_id: ssoId } } })),
  })
  return (
    <QueryView query={query} rows={10}>
      {(sso) => (
        <>
          <PageTitle
            title={sso.name}
            call={`/orgs/${orgId}/ssos/${ssoId}`}
            above={
              <Link to="/orgs/$orgId/sso" params={{ orgId }}>
                Single sign-on
              </Link>
            }
            actions={mayChange && <DeleteButton sso={sso} />}
          />
          <div className="columns">
            <SsoForm sso={sso} mayChange={mayChange} />
            <div>
              <AddressPanel sso={sso} />
              <FailurePanel sso={sso} />
              {mayChange && <RemovalPanel sso={sso} />}
            </div>
          </div>
        </>
      )}
    </QueryView>
  )
}

function DeleteButton({ sso: { id, org_id: orgId, name } }: { readonly sso: Sso }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const people = useAdmins(orgId).data?.filter(({ via_sso: bySso }) => bySso).length
  return (
    <ConfirmButton
      action="Delete the provider"
      isDestructive
      effect={{
        does: 'Deletes',
        counts: [{ count: 1, one: 'identity provider' }],
        name,
        consequences: [
          people === undefined
            ? null
            : `${counted(people, 'person signs', 'people sign')} in by an identity provider of the organization. Those whom this one signs in lose their accounts and sessions at once.`,
        ],
        isFinal: true,
      }}
      run={async () => {
        await answerOf(
          api.DELETE('/api/v1/orgs/{org_id}/ssos/{sso_id}', { params: { path: { org_id: orgId, sso_id: id } } }),
        )
        await navigate({ to: '/orgs/$orgId/sso', params: { orgId }, ignoreBlocker: true })
        await queries.invalidateQueries({ queryKey: ['ssos', orgId] })
      }}
    />
  )
}

/** What people type in at the identity provider. */
function AddressPanel({ sso: { id, org_id: orgId, domain, modified_time: modifiedAt } }: { readonly sso: Sso }) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['sso metadata', id, modifiedAt],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/ssos/{sso_id}/metadata', {
          params: { path: { org_id: orgId, sso_id: id } },
        }),
      ),
  })
  const signIn = `${globalThis.location.origin}/saml/${domain}/login`
  return (
    <Panel title="For the identity provider">
      <QueryView query={query}>
        {({ acs_url: acs, entity_id: entity, logout_url: logout, warnings = [] }) => (
          <>
            {warnings.map((warning) => (
              <p key={warning} className="problem">
                {warning}
              </p>
            ))}
            <dl className="facts one-column">
              {(
                [
                  ['Entity ID', entity],
                  ['ACS URL', acs],
                  ['Logout URL', logout],
                  ['Sign-in URL for people', signIn],
                ] as const
              ).map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd className="mono">{value}</dd>
                </div>
              ))}
            </dl>
            <p className="panel-buttons">
              <a className="link-button" href={`/api/v1/orgs/${orgId}/ssos/${id}/metadata.xml`} download>
                Download as XML
              </a>
            </p>
          </>
        )}
      </QueryView>
    </Panel>
  )
}

const FAILURES = 10

function FailurePanel({ sso: { id, org_id: orgId } }: { readonly sso: Sso }) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['sso failures', id],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/ssos/{sso_id}/failures', {
          params: { path: { org_id: orgId, sso_id: id }, query: { duration: '7d', limit: FAILURES } },
        }),
      ),
    refetchInterval: 10_000,
  })
  return (
    <Panel title="Failed sign-ins" aside="7 days">
      <QueryView query={query}>
        {({ results }) =>
          results.length === 0 ? (
            <EmptyState title="None in a week" />
          ) : (
            <ol className="log">
              {results.map(({ timestamp, detail, saml_assertion_xml: xml }) => (
                <Row key={`${timestamp} ${detail}`}>
                  <div className="log-head">
                    <span className="log-what">{detail}</span>
                    <RowName>
                      <ViewerTime at={timestamp} />
                    </RowName>
                  </div>
                  {xml !== '' && (
                    <details className="exchange">
                      <RowSummary>What the provider sent</RowSummary>
                      <pre tabIndex={0} role="region" aria-label="Assertion">
                        {xml}
                      </pre>
                    </details>
                  )}
                </Row>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}
