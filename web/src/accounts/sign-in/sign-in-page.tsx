import { useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi, useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { RequestForm } from '../../display/forms/request-form.tsx'
import { returnPath } from '../return-path.ts'
import { ProviderAnswer, ProviderButtons } from './provider-sign-in.tsx'
import { CodeForm, PasswordForm } from './sign-in-forms.tsx'

const route = getRouteApi('/sign-in')

/** Sign-in with a password, and with the code of the second factor where the account has one. */
export function SignInPage() {
  const { return: given, provider, code } = route.useSearch()
  const router = useRouter()
  const queries = useQueryClient()
  const [needsCode, setNeedsCode] = useState(false)
  useEffect(() => {
    document.title = 'Sign in · Signalbox'
  }, [])

  async function enter(): Promise<void> {
    await queries.resetQueries()
    router.history.replace(returnPath(given, globalThis.location.origin))
  }

  return (
    <main className="sign-in">
      <p className="brand">Signalbox</p>
      <h1>{needsCode ? 'Second factor' : 'Sign in'}</h1>
      {provider !== undefined && code !== undefined && !needsCode && (
        <ProviderAnswer provider={provider} code={code} onDone={enter} onCode={() => setNeedsCode(true)} />
      )}
      {needsCode ? <CodeForm onDone={enter} /> : <PasswordForm onDone={enter} onCode={() => setNeedsCode(true)} />}
      {!needsCode && <ProviderButtons given={given} />}
      {!needsCode && <SsoForm given={given} />}
      {!needsCode && (
        <p className="hint">
          <Link to="/register">Create an account</Link> · <Link to="/recover">Forgot your password?</Link>
        </p>
      )}
    </main>
  )
}

/** If the identity provider of an organization knows the address, it signs the person in. */
function SsoForm({ given }: { readonly given: string | undefined }) {
  const { api } = useServer()
  const [isOpen, setOpen] = useState(false)
  if (!isOpen)
    return (
      <p className="hint">
        <button type="button" className="row-button" onClick={() => setOpen(true)}>
          Sign in with single sign-on
        </button>
      </p>
    )
  return (
    <RequestForm
      fields={[{ name: 'email', label: 'Email at your organization', type: 'email', required: true }]}
      action="Continue"
      run={async ({ email = '' }) => {
        const { sso_url: url } = await answerOf(api.POST('/api/v1/login/lookup', { body: { email } }))
        if (url === undefined) throw new Problem(404, 'No identity provider is set up for this address.')
        const { origin } = globalThis.location
        globalThis.location.assign(`${url}?forward=${encodeURIComponent(origin + returnPath(given, origin))}`)
      }}
    />
  )
}
