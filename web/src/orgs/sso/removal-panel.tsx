import { Textarea } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { useAdmins } from '../use-admins.ts'
import { planRemoval, removalEffect } from './removal.ts'
import type { Sso } from './sso-fields.ts'

/** Removes people by their addresses, such as those who have left the company. */
export function RemovalPanel({ sso: { id, org_id: orgId, name } }: { readonly sso: Sso }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const [text, setText] = useState('')
  const [result, setResult] = useState<Schemas['SsoAdminsDeleteResult'] | null>(null)
  const admins = useAdmins(orgId)
  const plan = planRemoval(text, admins.data ?? [])
  return (
    <Panel title="Remove people">
      <div className="wizard-fields one-column">
        <Textarea
          label="Addresses"
          description="One per line. Only accounts that this provider signs in are removed"
          rows={3}
          value={text}
          onChange={({ currentTarget: { value } }) => setText(value)}
        />
      </div>
      {result !== null && <RemovalResult result={result} />}
      {plan.emails.length > 0 && admins.data !== undefined && (
        <div className="panel-buttons">
          <ConfirmButton
            action="Remove"
            isDestructive
            effect={removalEffect(plan, name)}
            run={async () => {
              const params = { path: { org_id: orgId, sso_id: id } }
              const body = { emails: [...plan.emails] }
              setResult(await answerOf(api.POST('/api/v1/orgs/{org_id}/ssos/{sso_id}/delete_admins', { params, body })))
              setText('')
              await queries.invalidateQueries({ queryKey: ['admins', orgId] })
            }}
          />
        </div>
      )}
    </Panel>
  )
}

function RemovalResult({ result: { deleted, errors } }: { readonly result: Schemas['SsoAdminsDeleteResult'] }) {
  return (
    <div className="plan-line" role="status">
      {deleted.length > 0 && <p>Removed: {deleted.join(', ')}</p>}
      {errors.length > 0 && <p>Without an account of this provider: {errors.join(', ')}</p>}
    </div>
  )
}
