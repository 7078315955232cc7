import { useQuery } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { QueryView } from '../../display/layout/query-view.tsx'
import { RequestForm } from '../../display/forms/request-form.tsx'
import { noMailText } from '../no-mail-text.ts'

const route = getRouteApi('/register')

/** Registers an account; a mailed link completes it. */
export function RegisterPage() {
  const { api } = useServer()
  const { invite } = route.useSearch()
  const [mailedTo, setMailedTo] = useState<string | null>(null)
  const info = useQuery({
    queryKey: ['registration'],
    queryFn: () => answerOf(api.GET('/api/v1/register/recaptcha')),
    staleTime: Infinity,
  })
  useEffect(() => {
    document.title = 'Create an account · Signalbox'
  }, [])
  return (
    <main className="sign-in">
      <p className="brand">Signalbox</p>
      <h1>{mailedTo === null ? 'Create an account' : 'Look at your mail'}</h1>
      {mailedTo !== null && (
        <div role="status">
          <p>
            A mail to {mailedTo} is on its way. Its link completes the registration, and asks for the password that you
            have just chosen.
          </p>
          <p>{noMailText}</p>
        </div>
      )}
      {mailedTo === null && (
        <QueryView query={info}>
          {({ required }) =>
            required ? (
              <p>
                This server asks for a CAPTCHA of another company, which the console does not load. Register by the page
                of your operator, or by the API.
              </p>
            ) : (
              <RequestForm
                fields={[
                  { name: 'email', label: 'Email', type: 'email', autoComplete: 'username', required: true },
                  { name: 'first_name', label: 'First name', autoComplete: 'given-name', required: true },
                  { name: 'last_name', label: 'Last name', autoComplete: 'family-name', required: true },
                  ...(invite === undefined
                    ? [{ name: 'org_name', label: 'Organization', autoComplete: 'organization', required: true }]
                    : []),
                  {
                    ...{ name: 'password', label: 'Password', type: 'password', autoComplete: 'new-password' },
                    required: true,
                  },
                  ...(invite === undefined
                    ? [{ name: 'invite_code', label: 'Code', description: 'Where registration is by invitation' }]
                    : []),
                ]}
                action="Create the account"
                run={async ({ invite_code: code = '', ...values }) => {
                  const { email = '', first_name = '', last_name = '', password = '' } = values
                  // Required also where no organization is made. Both names together might be too long.
                  const { org_name = first_name } = values
                  const body = {
                    ...{ email, first_name, last_name, org_name, password },
                    return_to: `${globalThis.location.origin}/`,
                    ...(code !== '' && { invite_code: code }),
                    ...(invite !== undefined && { account_only: true, referer_invite_token: invite }),
                  }
                  await answerOf(api.POST('/api/v1/register', { body }))
                  setMailedTo(email)
                }}
              />
            )
          }
        </QueryView>
      )}
      <p className="hint">
        <Link to="/sign-in">Sign in</Link>
      </p>
    </main>
  )
}
