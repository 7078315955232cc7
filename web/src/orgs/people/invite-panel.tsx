import { useQuery, useQueryClient } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { ViewerTime } from '../../display/times/time.tsx'
import { useSites } from '../sites.ts'
import { GrantForm } from '../grant-form.tsx'
import { privilegeText } from '../grant.ts'
import { Row, RowName } from '../../display/layout/row.tsx'

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
                <Row key={id} className="image-line">
                  <div>
                    <p className="image-uses">
                      <RowName>{email}</RowName>
                    </p>
                    <p>
                      {privileges.map((privilege) => privilegeText(privilege, sites)).join(', ')} · until{' '}
                      <ViewerTime at={until} />
                    </p>
                  </div>
                  {mayChange && (
                    <ConfirmButton
                      action="Withdraw"
                      isDestructive
                      effect={{
                        does: 'Withdraws',
                        counts: [{ count: 1, one: 'invitation' }],
                        name: email,
                        consequences: ['The link in the mail stops working.'],
                      }}
                      run={async () => {
                        const params = { path: { org_id: orgId, invite_id: id } }
                        await answerOf(api.DELETE('/api/v1/orgs/{org_id}/invites/{invite_id}', { params }))
                        await queries.invalidateQueries({ queryKey: ['invites', orgId] })
                      }}
                    />
                  )}
                </Row>
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
  return (
    <GrantForm
      orgId={orgId}
      field={{ name: 'email', label: 'Email', type: 'email' }}
      action="Invite"
      create={(email, privileges) =>
        answerOf(
          api.POST('/api/v1/orgs/{org_id}/invites', {
            params: { path: { org_id: orgId } },
            body: { email, privileges },
          }),
        )
      }
      listKey="invites"
    />
  )
}
