import { Button, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { fieldIn } from '../../api/problem.ts'
import { ConfirmButton } from '../../display/confirm-button.tsx'
import { EmptyState, ProblemNote } from '../../display/notices.tsx'
import { Panel } from '../../display/panel.tsx'
import { QueryView } from '../../display/query-view.tsx'
import { GrantFields } from '../grant-fields.tsx'
import { firstGrant, grantOf, privilegeText, privilegesOf, roleWords } from '../grant.ts'
import { useSites } from '../sites.ts'

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
              Nobody can sign in before there is a role with the name that the identity provider says.
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
  const [grant, setGrant] = useState(() => grantOf(role.privileges))
  const params = { path: { org_id: orgId, ssorole_id: role.id } }
  const refresh = () => queries.invalidateQueries({ queryKey: ['sso roles', orgId] })
  return (
    <li className="image-line">
      <div>
        <p className="image-uses">{role.name}</p>
        <p>{role.privileges.map((privilege) => privilegeText(privilege, sites)).join(', ')}</p>
      </div>
      {mayChange && (
        <span className="wizard-buttons">
          <ConfirmButton
            action="Change"
            effect={`Who signs in as ${role.name} is ${roleWords[grant.role].label} from the next sign-in on.`}
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
            effect={`Nobody can sign in as ${role.name} any more.`}
            run={async () => {
              await answerOf(api.DELETE('/api/v1/orgs/{org_id}/ssoroles/{ssorole_id}', { params }))
              await refresh()
            }}
          />
        </span>
      )}
    </li>
  )
}

function NewRoleForm({ orgId }: { readonly orgId: string }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [grant, setGrant] = useState(firstGrant)
  const mutation = useMutation({
    mutationFn: () =>
      answerOf(
        api.POST('/api/v1/orgs/{org_id}/ssoroles', {
          params: { path: { org_id: orgId } },
          body: { name, privileges: privilegesOf(grant, orgId) },
        }),
      ),
    onSuccess: () => {
      setName('')
      return queries.invalidateQueries({ queryKey: ['sso roles', orgId] })
    },
  })
  const refused = mutation.error !== null && fieldIn(mutation.error.message) === 'name'
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    mutation.mutate()
  }
  return (
    <form onSubmit={submit}>
      <div className="wizard-fields">
        <TextInput
          label="Name of a new role"
          description="As the identity provider says it"
          required
          value={name}
          error={refused ? mutation.error?.message : null}
          onChange={({ currentTarget: { value } }) => setName(value)}
        />
        <GrantFields orgId={orgId} grant={grant} onChange={setGrant} />
      </div>
      {!refused && <ProblemNote problem={mutation.error} />}
      <p className="panel-buttons">
        <Button type="submit" size="xs" loading={mutation.isPending}>
          Add the role
        </Button>
      </p>
    </form>
  )
}
