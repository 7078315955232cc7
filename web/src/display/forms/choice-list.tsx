import { useId } from 'react'
import { LoadNote } from '../layout/notices.tsx'
import { type LoadedChoices, withMissing } from './choices.ts'

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
    <fieldset className="choice-list" {...(error !== null && { 'aria-describedby': errorId })}>
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
        <div className="choices">
          {(loaded.choices === undefined ? [] : withMissing(loaded.choices, chosen, missing)).map((choice) => (
            <label key={choice.value}>
              <input
                type="checkbox"
                checked={chosen.includes(choice.value)}
                onChange={({ currentTarget: { checked } }) =>
                  onChange(checked ? [...chosen, choice.value] : chosen.filter((value) => value !== choice.value))
                }
              />
              {choice.label}
            </label>
          ))}
        </div>
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
