import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { RequestForm } from '../../display/forms/request-form.tsx'
import { noMailText } from '../no-mail-text.ts'

/** Requests a mail whose link sets another password. The answer never reveals whether the address has an account. */
export function RecoverPage() {
  const { api } = useServer()
  useEffect(() => {
    document.title = 'Reset your password · Signalbox'
  }, [])
  return (
    <main className="sign-in">
      <p className="brand">Signalbox</p>
      <h1>Reset your password</h1>
      <RequestForm
        fields={[{ name: 'email', label: 'Email', type: 'email', autoComplete: 'username', required: true }]}
        action="Send the link"
        run={({ email = '' }) => answerOf(api.POST('/api/v1/recover', { body: { email } }))}
        done={`If the address has an account, a mail is on its way. Its link lets you set a new password. ${noMailText}`}
      />
      <p className="hint">
        <Link to="/sign-in">Sign in</Link>
      </p>
    </main>
  )
}
