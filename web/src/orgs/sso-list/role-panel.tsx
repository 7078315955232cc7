import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { counted } from '../../display/texts/counted.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { GrantFields } from '../grant-fields.tsx'
import { GrantForm } from '../grant-form.tsx'
import { grantOf, privilegeText, privilegesOf, roleWords } from '../grant.ts'
import { useAdmins } from '../use-admins.ts'
import { useSites } from '../sites.ts'
import { Row, RowName } from '../../display/layout/row.tsx'

type SsoRole = Schemas['SsoRole']

interface RolePanelProps {
  readonly orgId: string
  readonly mayChange: boolean
}

/** What people may do, by the names of roles that identity providers say. */
export function RolePanel({ orgId, mayChange }: RolePanelProps) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['sso roles', orgId],
    queryFn: () => answerOf(api.GET('/api/v1/orgs/{org_id}/ssoroles', { params: { path: { org_id: orgId } } })),
  })
  return (
    <Panel title="Roles" aside={query.data?.length}>
      <QueryView query={query} rows={2}>
        {(roles) =>
          roles.length === 0 ? (
            <EmptyState title="No roles yet">
              People can sign in once there is a role with the name that the identity provider sends.
            </EmptyState>
          ) : (
            <ol className="log">
              {roles.map((role) => (
                <RoleLine key={role.id} orgId={orgId} role={role} mayChange={mayChange} />
              ))}
            </ol>
          )
        }
      </QueryView>
      {mayChange && <NewRoleForm orgId={orgId} />}
    </Panel>
  )
}

function RoleLine({ orgId, role, mayChange }: RolePanelProps & { readonly role: SsoRole }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const sites = useSites(orgId).data
  const people = useAdmins(orgId).data?.filter(({ via_sso: bySso }) => bySso).length
  const [grant, setGrant] = useState(() => grantOf(role.privileges))
  const params = { path: { org_id: orgId, ssorole_id: role.id } }
  const refresh = () => queries.invalidateQueries({ queryKey: ['sso roles', orgId] })
  return (
    <Row className="image-line">
      <div>
        <p className="image-uses">
          <RowName>{role.name}</RowName>
        </p>
        <p>{role.privileges.map((privilege) => privilegeText(privilege, sites)).join(', ')}</p>
      </div>
      {mayChange && (
        <span className="wizard-buttons">
          <ConfirmButton
            action="Change"
            effect={`People who sign in as ${role.name} are ${roleWords[grant.role].label} from their next sign-in on.`}
            onOpen={() => setGrant(grantOf(role.privileges))}
            fields={<GrantFields orgId={orgId} grant={grant} onChange={setGrant} />}
            run={async () => {
              const body = { privileges: privilegesOf(grant, orgId) }
              await answerOf(api.PUT('/api/v1/orgs/{org_id}/ssoroles/{ssorole_id}', { params, body }))
              await refresh()
            }}
          />
          <ConfirmButton
            action="Delete"
            isDestructive
            effect={{
              does: 'Deletes',
              counts: [{ count: 1, one: 'role' }],
              name: role.name,
              consequences: [
                people === undefined
                  ? "People with this role can't sign in by an identity provider any more."
                  : `${counted(people, 'person signs', 'people sign')} in by an identity provider; those with this role can't sign in any more.`,
              ],
            }}
            run={async () => {
              await answerOf(api.DELETE('/api/v1/orgs/{org_id}/ssoroles/{ssorole_id}', { params }))
              await refresh()
            }}
          />
        </span>
      )}
    </Row>
  )
}

function NewRoleForm({ orgId }: { readonly orgId: string }) {
  const { api } = useServer()
  return (
    <GrantForm
      orgId={orgId}
      field={{ name: 'name', label: 'Name of a new role', description: 'As the identity provider sends it' }}
      action="Add the role"
      create={(name, privileges) =>
        answerOf(
          api.POST('/api/v1/orgs/{org_id}/ssoroles', {
            params: { path: { org_id: orgId } },
            body: { name, privileges },
          }),
        )
      }
      listKey="sso roles"
    />
  )
}
