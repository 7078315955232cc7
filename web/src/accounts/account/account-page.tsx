import { useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { counted } from '../../display/texts/counted.ts'
import { ConfirmButton, FieldRefusal } from '../../display/forms/confirm-button.tsx'
import { useUnsaved } from '../../display/forms/leave-guard.tsx'
import { PasswordInput } from '../../display/forms/password-input.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { EditForm } from '../../display/forms/edit-form.tsx'
import type { Texts } from '../../display/forms/edits.ts'
import { type Self, selfQuery, useSelf } from '../self.ts'
import { SecondFactorPanel } from './second-factor-panel.tsx'
import { SessionPanel, useSessions } from './session-panel.tsx'
import { LinkPanel, SignInPanel } from './sign-in-panel.tsx'
import { TokenPanel, useTokens } from './token-panel.tsx'
import { Row, RowName } from '../../display/layout/row.tsx'

const route = getRouteApi('/signed-in/account')

/** The account of a person, whatever the organization. */
export function AccountPage() {
  const self = useSelf()
  const { provider, code } = route.useSearch()
  if (self === undefined) return null
  return (
    <main className="lone account-page">
      <PageTitle title="Your account" call="/self" above={<Link to="/">Signalbox</Link>}>
        <span>{self.email}</span>
      </PageTitle>
      {provider !== undefined && code !== undefined && <LinkPanel provider={provider} code={code} />}
      <ProfilePanel self={self} />
      <SignInPanel self={self} />
      <SecondFactorPanel self={self} />
      <SessionPanel />
      <TokenPanel />
      <OrgPanel self={self} />
    </main>
  )
}

/** Refreshes the pages' data about the account after a change of it. */
function useRefresh(): () => Promise<void> {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: ['self'] })
}

const profileFields = [
  { name: 'first_name', label: 'First name', autoComplete: 'given-name' },
  { name: 'last_name', label: 'Last name', autoComplete: 'family-name' },
  { name: 'phone', label: 'Phone', autoComplete: 'tel' },
]

function profileOf({ first_name = '', last_name = '', phone = '' }: Self): Texts {
  return { first_name, last_name, phone }
}

function ProfilePanel({ self }: { readonly self: Self }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const refresh = useRefresh()
  return (
    <Panel title="Profile">
      <EditForm
        fields={profileFields}
        stored={profileOf(self)}
        readAgain={async () => profileOf(await queries.fetchQuery({ ...selfQuery(api), staleTime: 0 }))}
        action="Save the profile"
        save={async (body) => {
          await answerOf(api.PUT('/api/v1/self', { body }))
          await refresh()
        }}
      />
    </Panel>
  )
}

function OrgPanel({ self }: { readonly self: Self }) {
  const { api } = useServer()
  const refresh = useRefresh()
  const orgs = new Map(self.privileges.map(({ org_id, org_name, role, scope }) => [org_id, { org_name, role, scope }]))
  return (
    <Panel title="Organizations" aside={orgs.size}>
      <ol className="log">
        {[...orgs].map(([orgId, { org_name: name, role, scope }]) => (
          <Row key={orgId} className="image-line">
            <span>
              <RowName>
                <Link to="/orgs/$orgId" params={{ orgId }}>
                  {name}
                </Link>
              </RowName>{' '}
              <span className="muted">
                {role}
                {scope === 'org' ? '' : ' of some sites'}
              </span>
            </span>
            <ConfirmButton
              action="Leave"
              isDestructive
              effect={{
                does: 'Removes you from',
                counts: [{ count: 1, one: 'organization' }],
                name,
                consequences: [
                  'Its API tokens that you created end at once. Only one of its admins can invite you again.',
                ],
              }}
              run={async () => {
                await answerOf(api.DELETE('/api/v1/self/orgs/{org_id}', { params: { path: { org_id: orgId } } }))
                await refresh()
              }}
            />
          </Row>
        ))}
      </ol>
      <p className="panel-buttons">
        <DeleteButton orgs={orgs.size} />
      </p>
    </Panel>
  )
}

function DeleteButton({ orgs }: { readonly orgs: number }) {
  const { api } = useServer()
  const unsaved = useUnsaved()
  const [password, setPassword] = useState('')
  const sessions = useSessions().data?.length ?? 0
  const tokens = useTokens().data?.length ?? 0
  return (
    <ConfirmButton
      action="Delete your account"
      isDestructive
      effect={{
        does: 'Deletes',
        counts: [
          { count: 1, one: 'account' },
          { count: sessions, one: 'session' },
          { count: tokens, one: 'API token' },
        ],
        consequences: [`Removes you from ${counted(orgs, 'organization')}.`],
        isFinal: true,
      }}
      fieldNames={['password']}
      fields={
        <FieldRefusal name="password">
          {(error) => (
            <PasswordInput
              label="Your password"
              autoComplete="current-password"
              value={password}
              error={error}
              onChange={({ currentTarget: { value } }) => setPassword(value)}
            />
          )}
        </FieldRefusal>
      }
      run={async () => {
        await answerOf(api.DELETE('/api/v1/self', { body: password === '' ? {} : { password } }))
        unsaved.release()
        globalThis.location.assign('/sign-in')
      }}
    />
  )
}
