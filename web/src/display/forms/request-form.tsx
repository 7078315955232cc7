import { TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { Button } from './button.tsx'
import { fieldIn } from '../../api/problem.ts'
import { useFocusOnRefusal } from './focus.ts'
import { PasswordInput } from './password-input.tsx'
import { ProblemNote } from '../layout/notices.tsx'

export interface RequestField {
  /** The name of the field in the request. */
  readonly name: string
  readonly label: string
  readonly description?: string
  readonly type?: 'text' | 'email' | 'password'
  readonly autoComplete?: string
  readonly required?: boolean
  /** What the field contains at first. */
  readonly value?: string | undefined
}

interface RequestFormProps {
  readonly fields: readonly RequestField[]
  readonly action: string
  /** Receives the input by field; an optional field may be empty. */
  readonly run: (values: Readonly<Record<string, string>>) => Promise<unknown>
  /** The message after the request; undefined: the shown data changes by itself. */
  readonly done?: string
}

/** A few fields of one request; a refusal is shown at its field. */
export function RequestForm({ fields, action, run, done }: RequestFormProps) {
  const mutation = useMutation({
    mutationFn: (form: HTMLFormElement) => run(textsIn(form)),
    onSuccess: (_answer, form) => form.reset(),
  })
  const refused = mutation.error === null ? null : fieldIn(mutation.error.message)
  const form = useFocusOnRefusal(mutation.error)
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    mutation.mutate(event.currentTarget)
  }
  return (
    <form ref={form} className="request-form" onSubmit={submit}>
      {fields.map(({ type = 'text', value, ...field }) => {
        const shared = { ...field, defaultValue: value, error: field.name === refused ? mutation.error?.message : null }
        return type === 'password' ? (
          <PasswordInput key={field.name} {...shared} />
        ) : (
          <TextInput key={field.name} type={type} {...shared} />
        )
      })}
      {!fields.some(({ name }) => name === refused) && <ProblemNote problem={mutation.error} />}
      {mutation.isSuccess && done !== undefined && <p role="status">{done}</p>}
      <Button type="submit" size="xs" isBusy={mutation.isPending}>
        {action}
      </Button>
    </form>
  )
}

function textsIn(form: HTMLFormElement): Readonly<Record<string, string>> {
  const entries = [...new FormData(form)].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []))
  return Object.fromEntries(entries)
}
