import { PasswordInput, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi, useRouter } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { answerOf, useServer } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { RequestForm } from '../../display/forms/request-form.tsx'
import { returnPath } from '../return-path.ts'
import { ProviderAnswer, ProviderButtons } from './provider-sign-in.tsx'

const route = getRouteApi('/sign-in')

/** Sign-in with a password, and with the code of the second factor where the account has one. */
export function SignInPage() {
  const { return: given, expired, provider, code } = route.useSearch()
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
      {expired === true && !needsCode && (
        <p className="hint">Your session has ended. After signing in you are back where you were.</p>
      )}
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

interface PasswordFormProps {
  readonly onDone: () => Promise<void>
  readonly onCode: () => void
}

function PasswordForm({ onDone, onCode }: PasswordFormProps) {
  const { api } = useServer()
  const mutation = useMutation({
    mutationFn: (body: { readonly email: string; readonly password: string }) =>
      answerOf(api.POST('/api/v1/login', { body })),
    onSuccess: (result) => (result.two_factor_required === true ? onCode() : onDone()),
  })
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    mutation.mutate({ email: textOf(form, 'email'), password: textOf(form, 'password') })
  }
  return (
    <form onSubmit={submit}>
      <TextInput label="Email" name="email" type="email" autoComplete="username" required autoFocus />
      <PasswordInput
        label="Password"
        name="password"
        autoComplete="current-password"
        required
        aria-invalid={mutation.error !== null}
        error={mutation.error?.message}
      />
      <Button type="submit" isBusy={mutation.isPending} fullWidth>
        Sign in
      </Button>
    </form>
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

function CodeForm({ onDone }: { readonly onDone: () => Promise<void> }) {
  const { api } = useServer()
  const mutation = useMutation({
    mutationFn: (code: string) => answerOf(api.POST('/api/v1/login/two_factor', { body: { two_factor: code } })),
    onSuccess: onDone,
  })
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    mutation.mutate(textOf(new FormData(event.currentTarget), 'code').replaceAll(' ', ''))
  }
  return (
    <form onSubmit={submit}>
      <TextInput
        label="Code"
        description="Six digits of your authenticator app, or a recovery code"
        name="code"
        autoComplete="one-time-code"
        required
        autoFocus
        error={mutation.error?.message}
      />
      <Button type="submit" isBusy={mutation.isPending} fullWidth>
        Continue
      </Button>
    </form>
  )
}

function textOf(form: FormData, name: string): string {
  const value = form.get(name)
  return typeof value === 'string' ? value : ''
}
