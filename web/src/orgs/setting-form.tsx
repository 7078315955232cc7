import { NativeSelect, TextInput, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { FormEvent, ReactNode } from 'react'
import { fieldPathIn } from '../api/problem.ts'
import { Button } from '../display/forms/button.tsx'
import type { ShownField, Texts } from '../display/forms/edits.ts'
import { useFocusOnRefusal } from '../display/forms/focus.ts'
import { useEdits } from '../display/forms/use-edits.ts'
import { ProblemNote } from '../display/layout/notices.tsx'
import { type SettingField, fieldOfPath, nameOf } from './setting-fields.ts'

interface SettingEdits<Loaded> {
  readonly loaded: Loaded
  /** Returns the content of the form of what was read. */
  readonly textsOf: (loaded: Loaded) => Texts
  readonly fieldOf: (name: string) => ShownField
  /** The names of the fields on which the edit of a field relies; others rely on none. */
  readonly reliedOn?: (name: string) => readonly string[]
  readonly readAgain: () => Promise<Loaded>
  /** Stores the content over what is stored by now. @returns What is stored then. */
  readonly save: (texts: Texts, present: Loaded) => Promise<Loaded>
}

/** The state of a form of settings that others may change at the same time. */
export function useSettingEdits<Loaded>({ loaded, textsOf, fieldOf, reliedOn, readAgain, save }: SettingEdits<Loaded>) {
  const { edits, texts, change, textsOver, forget } = useEdits(textsOf(loaded), fieldOf, reliedOn)
  const mutation = useMutation({
    async mutationFn(sent: typeof edits) {
      const present = await readAgain()
      return save(textsOver(sent, textsOf(present)), present)
    },
    onSuccess: (saved, sent) => forget(sent, textsOf(saved)),
  })
  return {
    texts,
    change,
    problem: mutation.error,
    refused: mutation.error === null ? null : fieldOfPath(fieldPathIn(mutation.error.message)),
    isPending: mutation.isPending,
    isSaved: mutation.isSuccess && Object.keys(edits).length === 0,
    submit: () => mutation.mutate(edits),
  }
}

type Edited = ReturnType<typeof useSettingEdits>

interface SettingFormProps {
  readonly form: Edited
  readonly mayChange: boolean
  /** The panels with the fields. */
  readonly children: ReactNode
}

/** A form of settings with its button, and what became of the last change. */
export function SettingForm({ form, mayChange, children }: SettingFormProps) {
  const { problem, refused, isPending, isSaved } = form
  const element = useFocusOnRefusal(problem)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    form.submit()
  }
  return (
    <form ref={element} onSubmit={submit}>
      <fieldset className="plain" disabled={!mayChange}>
        {children}
      </fieldset>
      {refused === null && <ProblemNote problem={problem} />}
      {isSaved && <p role="status">The settings are saved.</p>}
      {mayChange && (
        <Button type="submit" size="sm" isBusy={isPending}>
          Save the settings
        </Button>
      )}
    </form>
  )
}

interface SettingInputProps {
  readonly form: Edited
  readonly field: SettingField
}

export function SettingInput({ form: { texts, refused, problem, change }, field }: SettingInputProps) {
  const name = nameOf(field)
  return (
    <FieldInput
      field={field}
      text={texts[name] ?? ''}
      error={refused === name ? (problem?.message ?? null) : null}
      onChange={(text) => change(name, text)}
    />
  )
}

interface Typed {
  readonly currentTarget: { readonly value: string }
}

interface FieldInputProps {
  readonly field: SettingField
  readonly text: string
  readonly error: string | null
  readonly onChange: (text: string) => void
}

function FieldInput({ field: { label, description, kind, choices }, text, error, onChange }: FieldInputProps) {
  if (kind === 'switch')
    return (
      <div className="choice-list" data-refused={error === null ? undefined : true}>
        <label>
          <input
            type="checkbox"
            checked={text === 'true'}
            onChange={({ currentTarget: { checked } }) => onChange(checked ? 'true' : '')}
          />
          {label}
        </label>
        {error !== null && (
          <p className="problem" role="alert">
            {error}
          </p>
        )}
      </div>
    )
  const shared = { label, value: text, error, ...(description !== undefined && { description }) }
  const typed = { ...shared, onChange: ({ currentTarget: { value } }: Typed) => onChange(value) }
  if (kind === 'choice') return <NativeSelect {...typed} data={[...(choices ?? [])]} />
  if (kind === 'windows' || kind === 'versions') return <Textarea {...typed} rows={3} />
  return <TextInput {...typed} {...(kind === 'number' && { inputMode: 'numeric' })} />
}
