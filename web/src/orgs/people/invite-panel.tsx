import { Button, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { fieldIn } from '../../api/problem.ts'
import { ConfirmButton } from '../../display/confirm-button.tsx'
import { EmptyState, ProblemNote } from '../../display/notices.tsx'
import { Panel } from '../../display/panel.tsx'
import { QueryView } from '../../display/query-view.tsx'
import { SiteTime } from '../../display/time.tsx'
import { useSites } from '../sites.ts'
import { GrantFields } from '../grant-fields.tsx'
import { firstGrant, privilegeText, privilegesOf } from '../grant.ts'

interface InvitePanelProps {
  readonly orgId: string
  readonly mayChange: boolean
}

/** Invitations that are not accepted yet. */
export function InvitePanel({ orgId, mayChange }: InvitePanelProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const sites = useSites(orgId).data
  const query = useQuery({
    queryKey: ['invites', orgId],
    queryFn: () => answerOf(api.GET('/api/v1/orgs/{org_id}/invites', { params: { path: { org_id: orgId } } })),
  })
  return (
    <Panel title="Invitations" aside={query.data?.length}>
      <QueryView query={query} rows={2}>
        {(invites) =>
          invites.length === 0 ? (
            <EmptyState title="Nobody is invited" />
          ) : (
            <ol className="log">
              {invites.map(({ id, email, privileges, expire_time: until }) => (
                <li key={id} className="image-line">
                  <div>
                    <p className="image-uses">{email}</p>
                    <p>
                      {privileges.map((privilege) => privilegeText(privilege, sites)).join(', ')} · until{' '}
                      <SiteTime at={until} />
                    </p>
                  </div>
                  {mayChange && (
                    <ConfirmButton
                      action="Withdraw"
                      effect={`The link in the mail to ${email} works no more.`}
                      run={async () => {
                        const params = { path: { org_id: orgId, invite_id: id } }
                        await answerOf(api.DELETE('/api/v1/orgs/{org_id}/invites/{invite_id}', { params }))
                        await queries.invalidateQueries({ queryKey: ['invites', orgId] })
                      }}
                    />
                  )}
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
      {mayChange && <InviteForm orgId={orgId} />}
    </Panel>
  )
}

function InviteForm({ orgId }: { readonly orgId: string }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const [email, setEmail] = useState('')
  const [grant, setGrant] = useState(firstGrant)
  const mutation = useMutation({
    mutationFn: () =>
      answerOf(
        api.POST('/api/v1/orgs/{org_id}/invites', {
          params: { path: { org_id: orgId } },
          body: { email, privileges: privilegesOf(grant, orgId) },
        }),
      ),
    async onSuccess() {
      setEmail('')
      await queries.invalidateQueries({ queryKey: ['invites', orgId] })
    },
  })
  const refused = mutation.error !== null && fieldIn(mutation.error.message) === 'email'
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    mutation.mutate()
  }
  return (
    <form onSubmit={submit}>
      <div className="wizard-fields">
        <TextInput
          label="Email"
          type="email"
          required
          value={email}
          error={refused ? mutation.error?.message : null}
          onChange={({ currentTarget: { value } }) => setEmail(value)}
        />
        <GrantFields orgId={orgId} grant={grant} onChange={setGrant} />
      </div>
      {!refused && <ProblemNote problem={mutation.error} />}
      <p className="panel-buttons">
        <Button type="submit" size="xs" loading={mutation.isPending}>
          Invite
        </Button>
      </p>
    </form>
  )
}
