import { Button } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/confirm-button.tsx'
import { ProblemNote } from '../../display/notices.tsx'
import { Panel } from '../../display/panel.tsx'
import { RequestForm } from '../../display/request-form.tsx'
import { SiteTime } from '../../display/time.tsx'
import type { Self } from '../self.ts'

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
    <Panel title="Password" aside={changedAt !== undefined && <SiteTime at={changedAt} />}>
      <RequestForm
        fields={[
          {
            ...{ name: 'old_password', label: 'Present password', type: 'password' },
            autoComplete: 'current-password',
            required: true,
          },
          {
            ...{ name: 'password', label: 'New password', type: 'password', autoComplete: 'new-password' },
            description: 'Your other sessions end',
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

/** A configured provider has its own field, which is true if it is linked. */
function Providers({ self }: { readonly self: Self }) {
  const providers = Object.entries(self).flatMap(([name, linked]) =>
    name.startsWith(PREFIX) && typeof linked === 'boolean' ? [{ name: name.slice(PREFIX.length), linked }] : [],
  )
  // `oauth_google` is always there, whether or not it is configured.
  const known = providers.filter(({ name, linked }) => linked || name !== 'google' || providers.length > 1)
  if (known.length === 0) return null
  return (
    <ol className="log">
      {known.map(({ name, linked }) => (
        <li key={name} className="image-line">
          <span>
            {name} <span className="muted">{linked ? 'is linked' : 'is not linked'}</span>
          </span>
          {linked ? <UnlinkButton provider={name} /> : <LinkButton provider={name} />}
        </li>
      ))}
    </ol>
  )
}

function LinkButton({ provider }: { readonly provider: string }) {
  const { api } = useServer()
  const mutation = useMutation({
    mutationFn: () => answerOf(api.GET('/api/v1/self/oauth/{provider}', { params: { path: { provider } } })),
    onSuccess: ({ authorization_url: url }) => globalThis.location.assign(url),
  })
  return (
    <span>
      <Button variant="default" size="xs" loading={mutation.isPending} onClick={() => mutation.mutate()}>
        Link
      </Button>
      <ProblemNote problem={mutation.error} />
    </span>
  )
}

function UnlinkButton({ provider }: { readonly provider: string }) {
  const { api } = useServer()
  const queries = useQueryClient()
  return (
    <ConfirmButton
      action="Unlink"
      effect={`You can sign in by ${provider} no more.`}
      run={async () => {
        await answerOf(api.DELETE('/api/v1/self/oauth/{provider}', { params: { path: { provider } } }))
        await queries.invalidateQueries({ queryKey: ['self'] })
      }}
    />
  )
}
