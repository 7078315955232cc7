import { NativeSelect, TextInput, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { fieldIn } from '../../api/problem.ts'
import { useFocusOnRefusal } from '../../display/forms/focus.ts'
import { PasswordInput } from '../../display/forms/password-input.tsx'
import { useEdits } from '../../display/forms/use-edits.ts'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import type { WebhookBody } from '../webhook-calls.ts'
import { TopicList } from './topic-list.tsx'
import {
  type WebhookField,
  type WebhookValues,
  bodyOf,
  fieldsOf,
  shownField,
  textsOf,
  valuesIn,
  webhookTypes,
} from './webhook-values.ts'

interface WebhookFormProps {
  /** The webhook before the change. */
  readonly before: WebhookValues
  /** Reads it once more; absent for a new one. */
  readonly readAgain?: () => Promise<WebhookValues>
  /** Secrets that exist stay where none is typed. */
  readonly isNew: boolean
  readonly ofSite: boolean
  readonly action: string
  readonly save: (body: WebhookBody) => Promise<unknown>
}

/** The fields of a webhook; a refusal is shown at its field. */
export function WebhookForm({ before, readAgain, isNew, ofSite, action, save }: WebhookFormProps) {
  const { edits, texts, change, textsOver } = useEdits(textsOf(before), shownField)
  const values = valuesIn(texts)
  const mutation = useMutation({
    async mutationFn(sent: typeof edits) {
      const present = (await readAgain?.()) ?? before
      return save(bodyOf(valuesIn(textsOver(sent, textsOf(present))), present))
    },
  })
  const fields = fieldsOf(values.type)
  const switches = fields.filter(({ kind }) => kind === 'switch')
  const typed = fields.filter(({ kind }) => kind !== 'switch')
  const field = mutation.error === null ? null : fieldIn(mutation.error.message)
  const errorOf = (name: string): string | null => (field === name ? (mutation.error?.message ?? null) : null)
  const isShown = field !== null && ['type', 'topics', ...typed.map(({ name }) => name)].includes(field)
  const form = useFocusOnRefusal(mutation.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    mutation.mutate(edits)
  }
  return (
    <form ref={form} onSubmit={submit}>
      <Panel title="Receiver">
        <div className="wizard-fields">
          <NativeSelect
            label="Type"
            value={values.type}
            data={webhookTypes}
            error={errorOf('type')}
            onChange={({ currentTarget: { value: type } }) => change('type', type)}
          />
          {typed.map((one) => (
            <FieldInput
              key={one.name}
              field={one}
              isKept={!isNew}
              text={values.texts[one.name] ?? ''}
              error={errorOf(one.name)}
              onChange={(text) => change(one.name, text)}
            />
          ))}
          <fieldset className="choice-list">
            <legend>Options</legend>
            {switches.map(({ name, label }) => (
              <label key={name}>
                <input
                  type="checkbox"
                  checked={values.texts[name] === 'true'}
                  onChange={({ currentTarget: { checked } }) => change(name, checked ? 'true' : '')}
                />
                {label}
              </label>
            ))}
          </fieldset>
        </div>
      </Panel>
      <Panel title="What is sent">
        <div className="wizard-fields one-column">
          <TopicList
            chosen={values.topics}
            ofSite={ofSite}
            error={errorOf('topics')}
            onChange={(topics) => change('topics', topics.join(' '))}
          />
        </div>
      </Panel>
      {!isShown && <ProblemNote problem={mutation.error} />}
      <Button type="submit" size="sm" isBusy={mutation.isPending}>
        {action}
      </Button>
    </form>
  )
}

interface FieldInputProps {
  readonly field: WebhookField
  readonly isKept: boolean
  readonly text: string
  readonly error: string | null
  readonly onChange: (text: string) => void
}

function FieldInput({ field: { label, kind, description, options }, isKept, text, error, onChange }: FieldInputProps) {
  const isSecret = kind === 'secret' || kind === 'lines'
  const hint = isSecret && isKept ? [description, 'Empty: unchanged'].filter(Boolean).join('. ') : description
  const shared = { label, value: text, error, ...(hint !== undefined && { description: hint }) }
  if (kind === 'lines' || kind === 'headers')
    return <Textarea {...shared} rows={3} onChange={({ currentTarget: { value } }) => onChange(value)} />
  if (kind === 'choice')
    return (
      <NativeSelect
        {...shared}
        data={[...(options ?? [])]}
        onChange={({ currentTarget: { value } }) => onChange(value)}
      />
    )
  if (kind === 'secret')
    return (
      <PasswordInput
        {...shared}
        autoComplete="new-password"
        onChange={({ currentTarget: { value } }) => onChange(value)}
      />
    )
  return <TextInput {...shared} onChange={({ currentTarget: { value } }) => onChange(value)} />
}
