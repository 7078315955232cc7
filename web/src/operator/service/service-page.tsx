import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { PasswordInput } from '../../display/forms/password-input.tsx'
import { useServer } from '../../api/client.ts'
import { type OperatorApi, createOperatorApi } from '../../api/operator.ts'
import { PageTitle } from '../../display/layout/page-title.tsx'
import type { ServiceStatus } from './answers.ts'
import { CertificatePanel } from './certificate-panel.tsx'
import { RefusedPanel } from './refused-panel.tsx'
import { SetAsidePanel } from './set-aside-panel.tsx'
import { StatusPanels } from './status-panels.tsx'
import { StoragePanel } from './storage-panel.tsx'
import { UnclaimedMxedgePanel, UnclaimedPanel } from './unclaimed-panel.tsx'

/**
 * The service as its operator sees it. The key is kept in this page alone: it is gone when the page is left or
 * reloaded, and no other page can use it.
 */
export function ServicePage() {
  const [operator, setOperator] = useState<OperatorApi | null>(null)
  if (operator === null) return <KeyForm onEnter={setOperator} />
  return (
    <main className="operator-page">
      <PageTitle
        title="Service"
        above="Operator"
        call={{ path: '/status', by: 'operator' }}
        actions={
          <Button variant="default" size="xs" onClick={() => setOperator(null)}>
            Forget the key
          </Button>
        }
      />
      <StatusPanels operator={operator} />
      <div className="columns">
        <div>
          <RefusedPanel operator={operator} />
          <CertificatePanel operator={operator} />
          <SetAsidePanel operator={operator} />
        </div>
        <div>
          <UnclaimedPanel operator={operator} />
          <UnclaimedMxedgePanel operator={operator} />
          <StoragePanel operator={operator} />
        </div>
      </div>
    </main>
  )
}

function KeyForm({ onEnter }: { readonly onEnter: (operator: OperatorApi) => void }) {
  const { reachability } = useServer()
  const [key, setKey] = useState('')
  const enter = useMutation({
    async mutationFn() {
      const operator = createOperatorApi(key.trim(), reachability)
      await operator.get<ServiceStatus>('/status')
      return operator
    },
    onSuccess: onEnter,
  })
  useEffect(() => {
    document.title = 'Operator · Signalbox'
  }, [])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    enter.mutate()
  }
  return (
    <main className="sign-in">
      <p className="brand">Signalbox</p>
      <h1>Operator</h1>
      <form onSubmit={submit}>
        <PasswordInput
          label="Operator key"
          description="The text of operator.key in the data folder of the service. This page forgets it when you leave."
          autoComplete="off"
          required
          autoFocus
          value={key}
          error={enter.error?.message}
          onChange={({ currentTarget: { value } }) => setKey(value)}
        />
        <Button type="submit" fullWidth isBusy={enter.isPending}>
          Enter
        </Button>
      </form>
    </main>
  )
}
