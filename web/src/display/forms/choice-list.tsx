import { TextInput } from '@mantine/core'
import { useId, useRef, useState } from 'react'
import { counted } from '../texts/counted.ts'
import { focusIfLost } from './focus.ts'
import { LoadNote } from '../layout/notices.tsx'
import { type Choice, type LoadedChoices, MANY_CHOICES, shortenChoices, withMissing } from './choices.ts'

interface ChoiceListProps {
  readonly label: string
  /** The label of the choice of everything, such as "All sites". */
  readonly all: string
  readonly loaded: LoadedChoices
  /** Marks what was chosen and is none of the choices any more, such as "no longer here". */
  readonly missing: string
  /** Undefined: all. */
  readonly chosen: readonly string[] | undefined
  readonly error: string | null
  readonly onChange: (chosen: readonly string[] | undefined) => void
}

/** All of something, or some of it. */
export function ChoiceList({ label, all, loaded, missing, chosen, error, onChange }: ChoiceListProps) {
  const errorId = useId()
  return (
    <fieldset className="choice-list" {...(error !== null && { 'aria-describedby': errorId, 'data-refused': true })}>
      <legend>{label}</legend>
      <label>
        <input
          type="checkbox"
          checked={chosen === undefined}
          onChange={({ currentTarget: { checked } }) => onChange(checked ? undefined : [])}
        />
        {all}
      </label>
      {chosen !== undefined && (
        <Choices
          label={label}
          choices={loaded.choices === undefined ? [] : withMissing(loaded.choices, chosen, missing)}
          chosen={chosen}
          onChange={onChange}
        />
      )}
      <LoadNote what={label} failure={loaded.failure} />
      {error !== null && (
        <p className="field-problem" id={errorId} role="alert">
          {error}
        </p>
      )}
    </fieldset>
  )
}

interface ChoicesProps {
  readonly label: string
  readonly choices: readonly Choice[]
  readonly chosen: readonly string[]
  readonly onChange: (chosen: readonly string[]) => void
}

/** A box for each choice. Of many, it shows what is chosen, and some whose labels contain what is typed. */
function Choices({ label, choices, chosen, onChange }: ChoicesProps) {
  const [text, setText] = useState('')
  const search = useRef<HTMLInputElement>(null)
  const isMany = choices.length > MANY_CHOICES
  const { shown, more } = shortenChoices(choices, { chosen, text })
  const change = (value: string, isChosen: boolean): void => {
    onChange(isChosen ? [...chosen, value] : chosen.filter((one) => one !== value))
    // One that is not chosen any more may be hidden.
    setTimeout(() => focusIfLost(search.current))
  }
  return (
    <>
      {isMany && (
        <TextInput
          ref={search}
          size="xs"
          type="search"
          aria-label={`Search ${label.toLowerCase()}`}
          placeholder="A part of the name"
          value={text}
          onChange={({ currentTarget: { value } }) => setText(value)}
        />
      )}
      <div className="choices">
        {shown.map((choice) => (
          <label key={choice.value}>
            <input
              type="checkbox"
              checked={chosen.includes(choice.value)}
              onChange={({ currentTarget: { checked } }) => change(choice.value, checked)}
            />
            {choice.label}
          </label>
        ))}
      </div>
      {isMany && (
        <p role="status" className="hint">
          {counted(chosen.length, 'is', 'are')} chosen.
          {more > 0 && ` ${counted(more, 'more is', 'more are')} not shown: type a part of the name.`}
        </p>
      )}
    </>
  )
}
