import { TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { Button } from '../../display/forms/button.tsx'
import { useFocusOnRefusal } from '../../display/forms/focus.ts'
import { PasswordInput } from '../../display/forms/password-input.tsx'

interface FormProps {
  readonly onDone: () => Promise<void>
}

interface PasswordFormProps extends FormProps {
  /** That of the only person who may sign in here; absent for anybody. */
  readonly email?: string
  readonly onCode: () => void
}

/** Signs a person in who has signed in on this page before. */
export function SignInForms({ email, onDone }: FormProps & { readonly email: string }) {
  const [needsCode, setNeedsCode] = useState(false)
  if (needsCode)
    return (
      <>
        <CodeForm onDone={onDone} />
        {/* After some minutes, or too many wrong codes, no code completes the sign-in any more. */}
        <p className="hint">
          <button type="button" className="row-button" onClick={() => setNeedsCode(false)}>
            Enter the password again
          </button>
        </p>
      </>
    )
  return <PasswordForm email={email} onDone={onDone} onCode={() => setNeedsCode(true)} />
}

export function PasswordForm({ email, onDone, onCode }: PasswordFormProps) {
  const { api } = useServer()
  const mutation = useMutation({
    mutationFn: (body: { readonly email: string; readonly password: string }) =>
      answerOf(api.POST('/api/v1/login', { body })),
    onSuccess: (result) => (result.two_factor_required === true ? onCode() : onDone()),
  })
  const form = useFocusOnRefusal(mutation.error)
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    const sent = new FormData(event.currentTarget)
    mutation.mutate({ email: textOf(sent, 'email'), password: textOf(sent, 'password') })
  }
  return (
    <form ref={form} onSubmit={submit}>
      <TextInput
        label="Email"
        name="email"
        type="email"
        autoComplete="username"
        required
        {...(email === undefined ? { autoFocus: true } : { value: email, readOnly: true })}
      />
      <PasswordInput
        label="Password"
        name="password"
        autoComplete="current-password"
        required
        autoFocus={email !== undefined}
        error={mutation.error?.message}
      />
      <Button type="submit" isBusy={mutation.isPending} fullWidth>
        Sign in
      </Button>
    </form>
  )
}

export function CodeForm({ onDone }: FormProps) {
  const { api } = useServer()
  const mutation = useMutation({
    mutationFn: (code: string) => answerOf(api.POST('/api/v1/login/two_factor', { body: { two_factor: code } })),
    onSuccess: onDone,
  })
  const form = useFocusOnRefusal(mutation.error)
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    mutation.mutate(textOf(new FormData(event.currentTarget), 'code').replaceAll(' ', ''))
  }
  return (
    <form ref={form} onSubmit={submit}>
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
