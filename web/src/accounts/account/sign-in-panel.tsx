import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Button } from '../../display/forms/button.tsx'
import { answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { RequestForm } from '../../display/forms/request-form.tsx'
import { ViewerTime } from '../../display/times/time.tsx'
import { providerName } from '../provider-name.ts'
import { providersQuery } from '../providers.ts'
import type { Self } from '../self.ts'
import { proofField, withoutEmpty } from './proof.ts'
import { Row, RowName, useRowLabel } from '../../display/layout/row.tsx'

/** The password, and the providers that vouch for the account. */
export function SignInPanel({ self }: { readonly self: Self }) {
  const { api } = useServer()
  const queries = useQueryClient()
  if (self.via_sso === true)
    return (
      <Panel title="Sign-in">
        <p className="plan-line">The identity provider of your organization signs you in.</p>
      </Panel>
    )
  const { password_modified_time: changedAt } = self
  return (
    <Panel title="Password" aside={changedAt !== undefined && <ViewerTime at={changedAt} />}>
      <RequestForm
        fields={[
          {
            ...{ name: 'old_password', label: 'Current password', type: 'password' },
            autoComplete: 'current-password',
            required: true,
          },
          {
            ...{ name: 'password', label: 'New password', type: 'password', autoComplete: 'new-password' },
            description: 'Ends your other sessions',
            required: true,
          },
        ]}
        action="Change the password"
        run={async (body) => {
          await answerOf(api.PUT('/api/v1/self', { body }))
          await queries.invalidateQueries()
        }}
        done="The password is changed."
      />
      <Providers self={self} />
    </Panel>
  )
}

const PREFIX = 'oauth_'

/** The providers that the server is set up for, and those that are still linked, which a field of the account names. */
function Providers({ self }: { readonly self: Self }) {
  const { api } = useServer()
  const configured = useQuery(providersQuery(api)).data?.providers ?? []
  const isLinked = (name: string): boolean => linkedIn(self).get(name) === true
  const names = [...new Set([...configured, ...[...linkedIn(self).keys()].filter(isLinked)])]
  const known = names.map((name) => ({ name, linked: isLinked(name) }))
  if (known.length === 0) return null
  return (
    <ol className="log">
      {known.map(({ name, linked }) => (
        <Row key={name} className="image-line">
          <span>
            <RowName>{providerName(name)}</RowName>{' '}
            <span className="muted">{linked ? 'is linked' : 'is not linked'}</span>
          </span>
          {linked ? <UnlinkButton provider={name} /> : <LinkButton provider={name} />}
        </Row>
      ))}
    </ol>
  )
}

/** Returns whether each provider that the account names is linked. */
function linkedIn(self: Self): ReadonlyMap<string, unknown> {
  return new Map(
    Object.entries(self).flatMap(([field, value]) =>
      field.startsWith(PREFIX) ? [[field.slice(PREFIX.length), value] as const] : [],
    ),
  )
}

function LinkButton({ provider }: { readonly provider: string }) {
  const { api } = useServer()
  const label = useRowLabel()
  const mutation = useMutation({
    mutationFn: () => {
      const forward = `${globalThis.location.origin}/account?${new URLSearchParams({ provider }).toString()}`
      const params = { path: { provider }, query: { forward } }
      return answerOf(api.GET('/api/v1/self/oauth/{provider}', { params }))
    },
    onSuccess: ({ authorization_url: url }) => globalThis.location.assign(url),
  })
  return (
    <span>
      <Button variant="default" size="xs" {...label} isBusy={mutation.isPending} onClick={() => mutation.mutate()}>
        Link…
      </Button>
      <ProblemNote problem={mutation.error} />
    </span>
  )
}

/** Completes the link of a person who comes back from a provider. */
export function LinkPanel({ provider, code }: { readonly provider: string; readonly code: string }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const navigate = useNavigate()
  return (
    <Panel title={`Link ${providerName(provider)}`}>
      <p className="plan-line">From then on {providerName(provider)} signs you in to this account.</p>
      <RequestForm
        fields={[proofField]}
        action={`Link ${providerName(provider)}`}
        run={async (values) => {
          const params = { path: { provider } }
          await answerOf(api.POST('/api/v1/self/oauth/{provider}', { params, body: { code, ...withoutEmpty(values) } }))
          await queries.invalidateQueries({ queryKey: ['self'] })
          await navigate({ to: '/account', replace: true })
        }}
      />
    </Panel>
  )
}

function UnlinkButton({ provider }: { readonly provider: string }) {
  const { api } = useServer()
  const queries = useQueryClient()
  return (
    <ConfirmButton
      action="Unlink"
      isDestructive
      effect={{
        does: 'Removes',
        counts: [{ count: 1, one: 'way to sign in', many: 'ways to sign in' }],
        name: providerName(provider),
      }}
      run={async () => {
        await answerOf(api.DELETE('/api/v1/self/oauth/{provider}', { params: { path: { provider } } }))
        await queries.invalidateQueries({ queryKey: ['self'] })
      }}
    />
  )
}
