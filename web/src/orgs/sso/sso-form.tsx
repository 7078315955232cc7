import { NativeSelect, TextInput, Textarea } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { answerOf, useServer } from '../../api/client.ts'
import { fieldIn } from '../../api/problem.ts'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { useFocusOnRefusal } from '../../display/forms/focus.ts'
import { useEdits } from '../../display/forms/use-edits.ts'
import { Panel } from '../../display/layout/panel.tsx'
import { type Sso, type SsoField, changesOf, shownField, ssoFields, textsOf } from './sso-fields.ts'

interface SsoFormProps {
  readonly sso: Sso
  readonly mayChange: boolean
}

/** The data that the identity provider publishes about itself; a refusal is shown at its field. */
export function SsoForm({ sso, mayChange }: SsoFormProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const { edits, texts, change, textsOver, forget } = useEdits(textsOf(sso), shownField)
  const params = { path: { org_id: sso.org_id, sso_id: sso.id } }
  const mutation = useMutation({
    async mutationFn(sent: typeof edits) {
      const present = await answerOf(api.GET('/api/v1/orgs/{org_id}/ssos/{sso_id}', { params }))
      const body = changesOf(textsOver(sent, textsOf(present)), present)
      return answerOf(api.PUT('/api/v1/orgs/{org_id}/ssos/{sso_id}', { params, body }))
    },
    async onSuccess(saved, sent) {
      queries.setQueryData(['sso', sso.id], saved)
      forget(sent, textsOf(saved))
      await queries.invalidateQueries({ queryKey: ['ssos', sso.org_id] })
    },
  })
  const refused = mutation.error === null ? null : fieldIn(mutation.error.message)
  const form = useFocusOnRefusal(mutation.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    mutation.mutate(edits)
  }
  return (
    <form ref={form} onSubmit={submit}>
      <Panel title="From the identity provider">
        <fieldset className="plain" disabled={!mayChange}>
          <div className="wizard-fields one-column">
            {ssoFields.map((field) => (
              <FieldInput
                key={field.name}
                field={field}
                text={texts[field.name] ?? ''}
                error={refused === field.name ? (mutation.error?.message ?? null) : null}
                onChange={(text) => change(field.name, text)}
              />
            ))}
          </div>
        </fieldset>
        {!ssoFields.some(({ name }) => name === refused) && <ProblemNote problem={mutation.error} />}
        {mutation.isSuccess && (
          <p className="plan-line" role="status">
            Saved.
          </p>
        )}
        {mayChange && (
          <p className="panel-buttons">
            <Button type="submit" size="xs" isBusy={mutation.isPending}>
              Save
            </Button>
          </p>
        )}
      </Panel>
    </form>
  )
}

interface FieldInputProps {
  readonly field: SsoField
  readonly text: string
  readonly error: string | null
  readonly onChange: (text: string) => void
}

function FieldInput({ field: { label, description, choices, isLong }, text, error, onChange }: FieldInputProps) {
  const shared = { label, value: text, error, ...(description !== undefined && { description }) }
  if (choices !== undefined)
    return <NativeSelect {...shared} data={[...choices]} onChange={({ currentTarget: { value } }) => onChange(value)} />
  if (isLong === true)
    return (
      <Textarea
        {...shared}
        rows={6}
        classNames={{ input: 'mono' }}
        onChange={({ currentTarget: { value } }) => onChange(value)}
      />
    )
  return <TextInput {...shared} onChange={({ currentTarget: { value } }) => onChange(value)} />
}
