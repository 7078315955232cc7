import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { counted } from '../../display/texts/counted.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { useSites } from '../sites.ts'
import { useMay, useSelf } from '../../accounts/self.ts'
import { useAdmins } from '../use-admins.ts'
import { GrantFields } from '../grant-fields.tsx'
import { grantOf, grantText, privilegeText, privilegesOf } from '../grant.ts'
import { InvitePanel } from './invite-panel.tsx'
import { Row, RowName } from '../../display/layout/row.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/people')

type Admin = Schemas['Admin']

/** The people in the organization and their privileges. */
export function PeoplePage() {
  const { orgId } = route.useParams()
  const mayChange = useMay('admin', { orgId })
  const query = useAdmins(orgId)
  return (
    <>
      <PageTitle
        title="People"
        call={`/orgs/${orgId}/admins`}
        actions={
          <Link to="/orgs/$orgId/sso" params={{ orgId }} className="link-button">
            Single sign-on
          </Link>
        }
      >
        <span>{query.data === undefined ? ' ' : counted(query.data.length, 'person', 'people')}</span>
      </PageTitle>
      <Panel title="Members">
        <QueryView query={query}>
          {(admins) => (
            <ol className="log">
              {admins.map((admin) => (
                <AdminLine key={admin.admin_id} orgId={orgId} admin={admin} mayChange={mayChange} />
              ))}
            </ol>
          )}
        </QueryView>
      </Panel>
      <InvitePanel orgId={orgId} mayChange={mayChange} />
    </>
  )
}

interface AdminLineProps {
  readonly orgId: string
  readonly admin: Admin
  readonly mayChange: boolean
}

function AdminLine({ orgId, admin, mayChange }: AdminLineProps) {
  const self = useSelf()
  const sites = useSites(orgId).data
  const { name, email, privileges, two_factor_verified: hasFactor, via_sso: bySso } = admin
  return (
    <Row className="image-line">
      <div>
        <p className="image-uses">
          <RowName>{name === '' ? email : `${name} · ${email}`}</RowName>
        </p>
        <p>
          {privileges.map((privilege) => privilegeText(privilege, sites)).join(', ')}
          {bySso ? ' · signs in by the identity provider' : ''}
        </p>
      </div>
      {!bySso && (
        <StateMark tone={hasFactor ? 'good' : 'idle'}>{hasFactor ? 'Second factor' : 'No second factor'}</StateMark>
      )}
      {mayChange && self?.admin_id !== admin.admin_id && <AdminActions orgId={orgId} admin={admin} />}
    </Row>
  )
}

function useOrgTokens(orgId: string) {
  const { api } = useServer()
  return useQuery({
    queryKey: ['org tokens', orgId],
    queryFn: () => answerOf(api.GET('/api/v1/orgs/{org_id}/apitokens', { params: { path: { org_id: orgId } } })),
  })
}

/** @param tokens Of the organization, which the person has created; undefined: their number is not known. */
function tokensText(tokens: number | undefined): string | null {
  if (tokens === 0) return null
  if (tokens === undefined) return 'The API tokens of the organization that this person created end at once.'
  return `${counted(tokens, 'API token')} of the organization that this person created ${tokens === 1 ? 'ends' : 'end'} at once.`
}

/** People can't change their own privileges, so that no organization loses its last admin by mistake. */
function AdminActions({ orgId, admin }: Omit<AdminLineProps, 'mayChange'>) {
  const { api } = useServer()
  const queries = useQueryClient()
  const [grant, setGrant] = useState(() => grantOf(admin.privileges))
  const params = { path: { org_id: orgId, admin_id: admin.admin_id } }
  const refresh = () => queries.invalidateQueries({ queryKey: ['admins', orgId] })
  const sites = useSites(orgId).data
  const before = admin.privileges.map((privilege) => privilegeText(privilege, sites)).join(', ')
  const tokens = useOrgTokens(orgId).data?.filter(({ created_by: by }) => by === admin.email).length
  return (
    <span className="wizard-buttons">
      <ConfirmButton
        action="Change the role"
        effect={`${admin.email} is ${grantText(grant, sites)} from the next request on. Until now: ${before}.`}
        onOpen={() => setGrant(grantOf(admin.privileges))}
        fields={<GrantFields orgId={orgId} grant={grant} onChange={setGrant} />}
        run={async () => {
          const body = { privileges: privilegesOf(grant, orgId) }
          await answerOf(api.PUT('/api/v1/orgs/{org_id}/admins/{admin_id}', { params, body }))
          await refresh()
        }}
      />
      <ConfirmButton
        action="Remove"
        isDestructive
        effect={{
          does: 'Removes',
          counts: [{ count: 1, one: 'person', many: 'people' }],
          name: admin.email,
          consequences: ['This person has no access to the organization from the next request on.', tokensText(tokens)],
        }}
        run={async () => {
          await answerOf(api.DELETE('/api/v1/orgs/{org_id}/admins/{admin_id}', { params }))
          await refresh()
        }}
      />
    </span>
  )
}
