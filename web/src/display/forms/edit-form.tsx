import { TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { fieldIn } from '../../api/problem.ts'
import { ProblemNote } from '../layout/notices.tsx'
import { Button } from './button.tsx'
import type { Texts } from './edits.ts'
import { useFocusOnRefusal } from './focus.ts'
import type { RequestField } from './request-form.tsx'
import { useEdits } from './use-edits.ts'

interface EditFormProps {
  readonly fields: readonly Omit<RequestField, 'type' | 'value'>[]
  readonly stored: Texts
  readonly readAgain: () => Promise<Texts>
  readonly action: string
  /** Receives the fields that differ from what is stored. It ends once the page shows what it has saved. */
  readonly save: (changed: Texts) => Promise<unknown>
}

/** A few texts of something stored that others may change at the same time; a refusal is shown at its field. */
export function EditForm({ fields, stored, readAgain, action, save }: EditFormProps) {
  const { edits, texts, change, textsOver, forget } = useEdits(
    stored,
    (name) => fields.find((field) => field.name === name) ?? { label: name },
  )
  const mutation = useMutation({
    async mutationFn(sent: typeof edits) {
      const present = await readAgain()
      const wanted = textsOver(sent, present)
      const changed = Object.entries(wanted).filter(([name, text]) => text !== present[name])
      await save(Object.fromEntries(changed))
      return wanted
    },
    onSuccess: (saved, sent) => forget(sent, saved),
  })
  const refused = mutation.error === null ? null : fieldIn(mutation.error.message)
  const form = useFocusOnRefusal(mutation.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    mutation.mutate(edits)
  }
  return (
    <form ref={form} className="request-form" onSubmit={submit}>
      {fields.map((field) => (
        <TextInput
          key={field.name}
          {...field}
          value={texts[field.name] ?? ''}
          error={field.name === refused ? mutation.error?.message : null}
          onChange={({ currentTarget: { value } }) => change(field.name, value)}
        />
      ))}
      {!fields.some(({ name }) => name === refused) && <ProblemNote problem={mutation.error} />}
      <Button type="submit" size="xs" isBusy={mutation.isPending}>
        {action}
      </Button>
    </form>
  )
}
